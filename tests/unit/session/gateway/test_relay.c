/* One direction over socket pairs: nothing lost, nothing invented, whatever the two ends do. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/relay.h"

static char scratch[RELAY_SCRATCH], data[5 << 20], got[sizeof(data)];

struct line {
	struct watch from, to;
	int in, out; /* the test's ends */
};

static void line_open(struct line *l)
{
	int a[2], b[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b), 0);
	l->in = a[0];
	l->out = b[1];
	l->from = (struct watch){ .fd = a[1] };
	l->to = (struct watch){ .fd = b[0] };
}

static void line_close(struct line *l)
{
	close(l->in);
	close(l->out);
	close(l->from.fd);
	close(l->to.fd);
}

/* As the poller would, after any change. */
static enum relay_result turn(struct line *l, struct relay *r)
{
	const char *excess;
	size_t excess_len;

	l->from.readable = l->to.writable = true;
	return relay_run(r, scratch, &excess, &excess_len);
}

/* Sends n bytes and ends, reads at most step bytes a turn. Returns what came out before the end. */
static size_t pass(struct line *l, struct relay *r, size_t n, size_t step)
{
	size_t sent = 0, came = 0;
	bool ended = false;

	while (!ended) {
		ssize_t k;

		if (sent < n) {
			k = send(l->in, data + sent, n - sent, MSG_NOSIGNAL);
			if (k > 0)
				sent += (size_t)k;
		}
		/* Like a server that answers and is gone. */
		if (sent == n && l->in >= 0) {
			close(l->in);
			l->in = -1;
		}
		turn(l, r);
		k = recv(l->out, got + came, step < sizeof(got) - came ? step : sizeof(got) - came, 0);
		if (k > 0)
			came += (size_t)k;
		ended = k == 0;
	}
	return came;
}

static void test_everything_arrives(void **state)
{
	static const size_t sizes[] = { 0, 1, 7728, 65536, 65537, 300000, sizeof(data) };
	static const size_t steps[] = { 4096, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			struct line l;
			struct relay r;

			line_open(&l);
			relay_init(&r, &l.from, &l.to, NULL);
			memset(got, 0, sizes[i]);
			assert_int_equal(pass(&l, &r, sizes[i], steps[k]), sizes[i]);
			assert_memory_equal(got, data, sizes[i]);
			assert_true(r.finished && r.eof && !r.failed);
			assert_int_equal(r.bytes, sizes[i]);
			assert_int_equal(r.pipe[0], -1);
			relay_done(&r);
			line_close(&l);
		}
}

static void test_pipe_is_used_late(void **state)
{
	struct line l;
	struct relay r;
	size_t n = 0;

	(void)state;
	line_open(&l);
	relay_init(&r, &l.from, &l.to, NULL);
	while (n < (1 << 20)) {
		ssize_t k = send(l.in, data, 65536, MSG_NOSIGNAL);

		if (k > 0)
			n += (size_t)k;
		turn(&l, &r);
		if (r.bytes < (200 << 10))
			assert_int_equal(r.pipe[0], -1);
		while (recv(l.out, got, sizeof(got), 0) > 0)
			;
	}
	assert_true(r.pipe[0] >= 0);
	relay_done(&r);
	line_close(&l);
}

static void test_push_goes_first(void **state)
{
	struct line l;
	struct relay r;

	(void)state;
	line_open(&l);
	relay_init(&r, &l.from, &l.to, NULL);
	assert_int_equal(relay_push(&r, "one ", 4), 0);
	assert_int_equal(relay_push(&r, "two ", 4), 0);
	assert_true(relay_is_blocked(&r));
	assert_int_equal(send(l.in, "three", 5, 0), 5);
	assert_int_equal(turn(&l, &r), RELAY_WAIT);
	assert_int_equal(recv(l.out, got, sizeof(got), 0), 13);
	assert_memory_equal(got, "one two three", 13);
	relay_done(&r);
	line_close(&l);
}

static void test_back_pressure(void **state)
{
	struct line l;
	struct relay r;
	size_t sent = 0;

	(void)state;
	line_open(&l);
	relay_init(&r, &l.from, &l.to, NULL);
	/* Nobody reads: the sender is stopped after a bounded amount. */
	for (int i = 0; i < 1000; i++) {
		ssize_t k = send(l.in, data, 65536, MSG_NOSIGNAL);

		if (k > 0)
			sent += (size_t)k;
		turn(&l, &r);
	}
	assert_true(sent < (4 << 20));
	assert_true(relay_is_blocked(&r));
	assert_true(r.pending_size <= RELAY_SCRATCH);
	relay_done(&r);
	line_close(&l);
}

static void test_receiver_gone(void **state)
{
	struct line l;
	struct relay r;

	(void)state;
	line_open(&l);
	relay_init(&r, &l.from, &l.to, NULL);
	close(l.out);
	l.out = -1;
	assert_int_equal(send(l.in, "x", 1, 0), 1);
	assert_int_equal(turn(&l, &r), RELAY_DONE);
	assert_true(r.failed && !r.eof);
	assert_int_equal(turn(&l, &r), RELAY_DONE);
	line_close(&l);
	/* Seen without writing. */
	line_open(&l);
	relay_init(&r, &l.from, &l.to, NULL);
	l.to.hangup = true;
	assert_int_equal(turn(&l, &r), RELAY_DONE);
	assert_true(r.failed);
	line_close(&l);
}

static void test_frame(void **state)
{
	struct http_body body;
	struct line l;
	struct relay r;
	const char *excess;
	size_t excess_len;

	(void)state;
	line_open(&l);
	l.from.readable = l.to.writable = true;
	http_body_init(&body, HTTP_BODY_LENGTH, 5);
	relay_init(&r, &l.from, &l.to, &body);
	assert_int_equal(send(l.in, "helloNEXT", 9, 0), 9);
	assert_int_equal(relay_run(&r, scratch, &excess, &excess_len), RELAY_DONE);
	assert_int_equal(excess_len, 0);
	assert_int_equal(recv(l.out, got, sizeof(got), 0), 5);
	assert_int_equal(recv(l.from.fd, got, sizeof(got), 0), 4);
	relay_done(&r);

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	relay_init(&r, &l.from, &l.to, &body);
	assert_int_equal(send(l.in, "1\r\nA\r\n0\r\n\r\nNEXT", 15, 0), 15);
	l.from.readable = true;
	assert_int_equal(relay_run(&r, scratch, &excess, &excess_len), RELAY_DONE);
	assert_int_equal(excess_len, 4);
	assert_memory_equal(excess, "NEXT", 4);
	assert_int_equal(recv(l.out, got, sizeof(got), 0), 11);
	relay_done(&r);

	http_body_init(&body, HTTP_BODY_CHUNKED, 0);
	relay_init(&r, &l.from, &l.to, &body);
	assert_int_equal(send(l.in, "1\nA", 3, 0), 3);
	assert_int_equal(turn(&l, &r), RELAY_BAD);
	assert_int_equal(recv(l.out, got, sizeof(got), 0), -1);
	relay_done(&r);

	/* The end in the middle of it. */
	http_body_init(&body, HTTP_BODY_LENGTH, 5);
	relay_init(&r, &l.from, &l.to, &body);
	assert_int_equal(send(l.in, "hel", 3, 0), 3);
	shutdown(l.in, SHUT_WR);
	l.from.peer_shut = true;
	assert_int_equal(turn(&l, &r), RELAY_DONE);
	assert_true(r.broken);
	assert_int_equal(recv(l.out, got, sizeof(got), 0), 3);
	relay_done(&r);
	line_close(&l);
}

static void test_large_frame_through_a_pipe(void **state)
{
	struct http_body body;
	struct line l;
	struct relay r;

	(void)state;
	line_open(&l);
	http_body_init(&body, HTTP_BODY_LENGTH, sizeof(data) - 10);
	relay_init(&r, &l.from, &l.to, &body);
	for (size_t sent = 0, came = 0; came < sizeof(data) - 10;) {
		ssize_t k = send(l.in, data + sent, sizeof(data) - sent, MSG_NOSIGNAL);

		if (k > 0)
			sent += (size_t)k;
		turn(&l, &r);
		k = recv(l.out, got + came, sizeof(got) - came, 0);
		if (k > 0)
			came += (size_t)k;
		assert_true(came <= sizeof(data) - 10);
	}
	turn(&l, &r);
	assert_true(r.finished && body.done && !r.broken);
	assert_memory_equal(got, data, sizeof(data) - 10);
	line_close(&l);
	relay_done(&r);
}

static int fill(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	srand(1);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)rand();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_arrives),
		cmocka_unit_test(test_pipe_is_used_late),
		cmocka_unit_test(test_push_goes_first),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_receiver_gone),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_large_frame_through_a_pipe),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
