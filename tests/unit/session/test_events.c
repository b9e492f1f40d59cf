#include "daemon/session/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/cleanup.h"
#include "daemon/session/tally.h"

union packet {
	uint32_t type;
	struct session_status status;
	struct session_connection connection;
};

static int pair[2];
static unsigned wakes;

static void count_wake(void *data)
{
	(void)data;
	wakes++;
}

static int setup(void **state)
{
	wakes = 0;
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}

static int teardown(void **state)
{
	(void)state;
	fd_close(pair[0]);
	fd_close(pair[1]);
	return 0;
}

/* Type, or 0 where there is nothing. */
static uint32_t next(union packet *p)
{
	ssize_t n = recv(pair[1], p, sizeof(*p), 0);

	return n > 0 ? p->type : 0;
}

static void push(struct events *e, uint32_t via, uint16_t port)
{
	events_connection(e, &(struct session_connection){ .via = via, .port = port });
}

static void test_types(void **state)
{
	struct events *e = events_new(8, count_wake, NULL);
	struct session_connection c = { .via = VIA_CONNECT };
	union packet p;

	(void)state;
	memset(c.program, 'x', sizeof(c.program)); /* not terminated */
	c.program[0] = '\n';
	events_connection(e, &c);
	push(e, VIA_DNS, 1);
	push(e, VIA_PACKET, 2);
	events_status(e, SESSION_EXITED, EXIT_KIND_CODE, 3);
	assert_int_equal(wakes, 4);
	assert_true(events_pending(e));
	assert_int_equal(events_flush(e, pair[0]), 0);
	assert_false(events_pending(e));
	assert_int_equal(next(&p), SESSION_CONNECTION);
	assert_int_equal(p.connection.count, 1);
	assert_memory_equal(p.connection.program, "\\x0axx", 6);
	assert_int_equal(strlen(p.connection.program), SESSION_PROGRAM_MAX - 1);
	assert_int_equal(next(&p), SESSION_DNS_DENIED);
	assert_int_equal(next(&p), SESSION_PACKET);
	assert_int_equal(next(&p), SESSION_EXITED);
	assert_int_equal(p.status.value, 3);
	assert_int_equal(next(&p), 0);
	events_free(e);
}

static void test_overflow(void **state)
{
	struct events *e = events_new(4, NULL, NULL);
	union packet p;

	(void)state;
	for (uint16_t i = 0; i < 10; i++)
		push(e, VIA_CONNECT, i);
	/* The exit always fits, and the gap stands before it, where it was. */
	events_status(e, SESSION_EXITED, EXIT_KIND_CODE, 0);
	assert_int_equal(events_flush(e, pair[0]), 0);
	for (uint16_t i = 0; i < 4; i++) {
		assert_int_equal(next(&p), SESSION_CONNECTION);
		assert_int_equal(p.connection.port, i);
	}
	assert_int_equal(next(&p), SESSION_LOST);
	assert_int_equal(p.status.value, 6);
	assert_int_equal(next(&p), SESSION_EXITED);
	assert_int_equal(next(&p), 0);

	for (uint16_t i = 0; i < 6; i++)
		push(e, VIA_CONNECT, i);
	events_lost(e, 1);
	assert_int_equal(events_flush(e, pair[0]), 0);
	for (uint16_t i = 0; i < 4; i++)
		assert_int_equal(next(&p), SESSION_CONNECTION);
	assert_int_equal(next(&p), SESSION_LOST);
	assert_int_equal(p.status.value, 3);
	assert_int_equal(next(&p), 0);
	events_free(e);
}

static void test_reader_is_slow_or_gone(void **state)
{
	struct events *e = events_new(EVENTS_MAX, NULL, NULL);
	union packet p;
	unsigned got = 0;
	int r;

	(void)state;
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		push(e, VIA_CONNECT, (uint16_t)i);
	r = events_flush(e, pair[0]);
	assert_int_equal(r, -EAGAIN);
	while (r == -EAGAIN || got < EVENTS_MAX) {
		assert_int_equal(next(&p), SESSION_CONNECTION);
		assert_int_equal(p.connection.port, got++);
		if (r == -EAGAIN)
			r = events_flush(e, pair[0]);
	}
	assert_int_equal(r, 0);
	push(e, VIA_CONNECT, 0);
	fd_close(pair[1]);
	pair[1] = -1;
	assert_int_equal(events_flush(e, pair[0]), -EPIPE);
	events_free(e); /* with one still in it */
	events_free(NULL);
}

static void test_tally(void **state)
{
	struct events *e = events_new(EVENTS_MAX, NULL, NULL);
	struct session_connection c = { .via = VIA_DNS, .reason = 1, .name = "a.example" };
	struct tally *t;
	union packet p;
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(tally_new(&loop, e, 50, &t), 0);
	for (int i = 0; i < 5; i++)
		tally_add(t, &c);
	c.name[0] = 'b';
	tally_add(t, &c);
	c.reason = 2;
	tally_add(t, &c);
	assert_int_equal(events_flush(e, pair[0]), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(next(&p), SESSION_DNS_DENIED);
		assert_int_equal(p.connection.count, 1);
	}
	assert_int_equal(next(&p), 0);
	/* The timer is the only thing in the loop: it ends when the windows have. */
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(events_flush(e, pair[0]), 0);
	assert_int_equal(next(&p), SESSION_DNS_DENIED);
	assert_string_equal(p.connection.name, "a.example");
	assert_int_equal(p.connection.count, 4);
	assert_int_equal(next(&p), 0);
	/* After its window a refusal is told at once again. */
	tally_add(t, &c);
	assert_int_equal(events_flush(e, pair[0]), 0);
	assert_int_equal(next(&p), SESSION_DNS_DENIED);

	/* Ever new refusals are counted, not told. */
	for (unsigned i = 0; i < TALLY_MAX + 10; i++) {
		c.port = (uint16_t)(i + 1);
		tally_add(t, &c);
	}
	tally_close(t);
	tally_close(NULL);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
	events_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_is_slow_or_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tally, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
