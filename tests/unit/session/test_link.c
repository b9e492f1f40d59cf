/* The link and its questions, with the other end held by the test. */
#include "daemon/session/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "daemon/session/owner.h"
#include "daemon/wire/plan.h"

static uv_loop_t loop;
static struct link *link_under_test;
static int peer;
static int ended = 1; /* the error, or 1 while it has not ended */
static unsigned statuses, listeners, lates;
static struct {
	unsigned calls;
	uint32_t pid;
	char program[LINK_TEXT_MAX];
} answer;

static void on_listeners(void *data, const int fds[LISTENER_COUNT])
{
	for (int i = 0; i < LISTENER_COUNT; i++)
		fd_close(fds[i]);
	listeners++;
}
static void on_pty(void *data, int master)
{
	fd_close(master);
}
static void on_status(void *data, const struct link_message *m)
{
	statuses++;
}
static void on_ended(void *data, int err)
{
	assert_int_equal(ended, 1);
	ended = err;
}
static void on_late(void *data, const struct late_event *event)
{
	assert_memory_equal(event->path, "/p/.envrc", event->path_len);
	lates++;
}
static void on_owner(void *data, uint32_t pid, const char *program)
{
	answer.calls++;
	answer.pid = pid;
	strcpy(answer.program, program);
}

static const struct link_handlers handlers = {
	.listeners = on_listeners, .pty = on_pty, .status = on_status, .ended = on_ended, .late = on_late
};
static const struct sockaddr_in somebody = { .sin_family = AF_INET, .sin_port = 0x3930, .sin_addr.s_addr = 0x0100007f };

static int setup(void **state)
{
	int pair[2];

	(void)state;
	ended = 1;
	statuses = listeners = lates = 0;
	memset(&answer, 0, sizeof(answer));
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	peer = pair[1];
	return link_open(&loop, pair[0], &handlers, NULL, &link_under_test);
}

static int teardown(void **state)
{
	(void)state;
	link_close(link_under_test);
	uv_run(&loop, UV_RUN_DEFAULT);
	link_free(link_under_test);
	fd_close(peer);
	return uv_loop_close(&loop);
}

static uint32_t ask(void)
{
	static const uint8_t to[16] = { 198, 18, 0, 9 };

	return owner_ask(link_under_test, (const struct sockaddr *)&somebody, to, 443, on_owner, NULL);
}

static void send_message(const struct link_message *m, size_t len)
{
	assert_int_equal(fd_pass_send(peer, m, len, NULL, 0), len);
	uv_run(&loop, UV_RUN_NOWAIT);
}

static void test_answer(void **state)
{
	struct link_message m;
	uint32_t query = ask();

	(void)state;
	assert_int_not_equal(query, 0);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(recv(peer, &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.type, LINK_WHO);
	assert_int_equal(m.family, AF_INET);
	assert_int_equal(m.port, 12345);
	assert_memory_equal(m.address, "\177\0\0\1", 4);
	assert_int_equal(m.to_port, 443);
	assert_memory_equal(m.to_address, "\306\22\0\11", 4);
	assert_int_equal(m.query, query);
	/* Another number than any that was asked. */
	m = (struct link_message){ .type = LINK_OWNER, .query = query + 1, .value = 9, .text = "no" };
	send_message(&m, sizeof(m));
	assert_int_equal(answer.calls, 0);
	m = (struct link_message){ .type = LINK_OWNER, .query = query, .value = 7, .text = "/usr/bin/curl" };
	send_message(&m, sizeof(m));
	assert_int_equal(answer.calls, 1);
	assert_int_equal(answer.pid, 7);
	assert_string_equal(answer.program, "/usr/bin/curl");
	/* Once more: too late. */
	send_message(&m, sizeof(m));
	assert_int_equal(answer.calls, 1);
	assert_int_equal(ended, 1);
}

/* Those of one turn of the loop go out together, and are answered so. */
static void test_many_at_once(void **state)
{
	struct link_message m[LINK_BATCH + 1];
	uint32_t queries[LINK_BATCH + 3];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		queries[i] = ask();
	assert_int_equal(recv(peer, m, sizeof(m), 0), LINK_BATCH * sizeof(m[0]));
	for (size_t i = 0; i < LINK_BATCH; i++)
		assert_true(m[i].type == LINK_WHO && m[i].query == queries[i]);
	assert_int_equal(recv(peer, m, sizeof(m), 0), -1);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(recv(peer, m, sizeof(m), 0), 3 * sizeof(m[0]));
	assert_int_equal(m[2].query, queries[LINK_BATCH + 2]);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(recv(peer, m, sizeof(m), 0), -1);
	for (size_t i = 0; i < LINK_BATCH; i++)
		m[i] = (struct link_message){ .type = LINK_OWNER, .query = queries[i], .value = 7, .text = "/bin/x" };
	send_message(m, LINK_BATCH * sizeof(m[0]));
	assert_int_equal(answer.calls, LINK_BATCH);
	assert_int_equal(answer.pid, 7);
	assert_int_equal(ended, 1);
}

static void test_many_malformed(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct link_message m[2] = { { .type = LINK_OWNER }, { .type = LINK_OWNER } };

		setup(state);
		m[0].query = ask();
		m[0].value = 7;
		if (i == 0)
			m[1].type = LINK_CONTINUED;
		if (i == 1)
			memset(m[1].text, 'x', sizeof(m[1].text));
		send_message(m, sizeof(m) - (i == 2));
		assert_int_equal(ended, -EBADMSG);
		/* Nothing of it holds: the question is told that nobody answers. */
		assert_int_equal(answer.pid, 0);
		teardown(state);
	}
}

static struct late_event late_event(void)
{
	return (struct late_event){
		.type = LINK_LATE, .kind = LATE_PLANTED, .group = 1, .pid = 3, .path_len = 9, .path = "/p/.envrc"
	};
}

static void send_late(const struct late_event *e, size_t n)
{
	assert_int_equal(fd_pass_send(peer, e, n, NULL, 0), n);
	uv_run(&loop, UV_RUN_NOWAIT);
}

static void test_late(void **state)
{
	struct late_event e = late_event();

	(void)state;
	send_late(&e, late_event_size(&e));
	assert_int_equal(lates, 1);
	assert_int_equal(ended, 1);
}

/* Each field out of its range ends the link. */
static void test_late_malformed(void **state)
{
	struct late_event e = late_event();

	(void)state;
	for (int i = 0; i < 10; i++) {
		size_t n;

		e = late_event();
		e.kind = i == 0 ? 0 : i == 1 ? LATE_KIND_END : i == 2 ? LATE_MORE : i == 3 ? LATE_STATE : e.kind;
		e.group = i == 4 ? 1000 : e.group;
		e.pid = i == 5 ? -2 : e.pid;
		if (i == 6)
			e.path[3] = '\0';
		if (i == 7)
			memset(e.program, 'x', sizeof(e.program));
		if (i == 8)
			e.path[0] = '.';
		n = late_event_size(&e) - (i == 9);
		assert_false(late_event_is_valid(&e, n));
	}
	/* What a session lacks: with a path or with a number, by its kind. */
	for (uint32_t lack = 0; lack <= LATE_LACK_END; lack++)
		for (int with_path = 0; with_path < 2; with_path++) {
			bool known = lack > 0 && lack < LATE_LACK_END;
			bool wants_path = lack == LATE_LACK_LAYER || lack == LATE_LACK_DEVICE ||
					  lack == LATE_LACK_LINK || lack == LATE_LACK_CASELESS;

			e = late_event();
			e.kind = LATE_LACKING;
			e.reason = lack;
			e.count = 1;
			e.path_len = with_path ? e.path_len : 0;
			assert_int_equal(late_event_is_valid(&e, late_event_size(&e)),
					 known && wants_path == (with_path == 1));
			e.count = 0;
			if (!wants_path)
				assert_false(late_event_is_valid(&e, late_event_size(&e)));
		}
	e = late_event();
	e.path_len = LIMIT_PATH + 1;
	assert_false(late_event_is_valid(&e, sizeof(e) + 1));
	assert_false(late_event_is_valid(&e, 4));
	e = late_event();
	send_late(&e, late_event_size(&e) - 1);
	assert_int_equal(ended, -EBADMSG);
	assert_int_equal(lates, 0);
}

static void run_until_answers(unsigned n)
{
	int more = 1;

	while (answer.calls < n && more)
		more = uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(answer.calls, n);
}

static void test_timeout(void **state)
{
	uint64_t start;
	uint32_t forgotten;

	(void)state;
	uv_update_time(&loop);
	start = uv_now(&loop);
	forgotten = ask();
	ask();
	owner_forget(link_under_test, forgotten);
	owner_forget(link_under_test, forgotten);
	run_until_answers(1);
	assert_int_equal(answer.calls, 1);
	assert_int_equal(answer.pid, 0);
	assert_string_equal(answer.program, "");
	assert_true(uv_now(&loop) - start >= OWNER_TIMEOUT);
}

static void test_full_and_gone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < OWNER_MAX; i++)
		assert_int_not_equal(ask(), 0);
	assert_int_equal(ask(), 0);
	assert_int_equal(answer.calls, 0); /* never from within the call */
	peer = fd_close(peer);
	run_until_answers(OWNER_MAX);
	assert_int_equal(ended, 0);
	/* The link is gone: answered without waiting, and still not from within the call. */
	answer.calls = 0;
	assert_int_not_equal(ask(), 0);
	assert_int_equal(answer.calls, 0);
	run_until_answers(1);
}

/* A descriptor is never queued: with a link that is full there is no question, and nobody waits for its answer. */
static void test_question_that_cannot_be_sent(void **state)
{
	(void)state;
	while (link_send_signal(link_under_test, LINK_SIGNAL, 1) == 0)
		;
	assert_int_not_equal(owner_ask_local(link_under_test, peer, on_owner, NULL), 0);
	assert_int_equal(answer.calls, 0);
	/* The first turn has it: nothing else ever wakes this loop. */
	uv_run(&loop, UV_RUN_NOWAIT);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(answer.calls, 1);
	assert_int_equal(answer.pid, 0);
	assert_int_equal(ended, 1);
}

static void test_peer_that_does_not_read(void **state)
{
	struct link_message m;
	int sent = 0, got = 0, r;

	(void)state;
	while ((r = link_send_signal(link_under_test, LINK_SIGNAL, 1 + sent % 60)) == 0) {
		sent++;
		assert_true(sent < 100000);
	}
	assert_int_equal(r, -ENOBUFS);
	while (got < sent) {
		ssize_t n = recv(peer, &m, sizeof(m), 0);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			uv_run(&loop, UV_RUN_NOWAIT);
			continue;
		}
		assert_int_equal(m.value, 1 + got % 60);
		got++;
	}
	assert_int_equal(link_send_signal(link_under_test, LINK_HANGUP, 0), 0);
}

static void test_malformed(void **state)
{
	static const struct link_message bad[] = {
		{ .type = 0 },
		{ .type = LINK_TYPE_END },
		{ .type = UINT32_MAX },
		{ .type = LINK_SIGNAL }, /* the other direction */
		{ .type = LINK_PTY },    /* its descriptor is missing */
		{ .type = LINK_LISTENERS },
		{ .type = LINK_EXITED },
		{ .type = LINK_EXITED, .kind = EXIT_KIND_CODE, .value = 256 },
		{ .type = LINK_EXITED, .kind = EXIT_KIND_SIGNAL, .value = 0 },
		{ .type = LINK_STOPPED, .value = 0 },
		{ .type = LINK_PORT, .family = AF_INET, .port = 1, .to_port = 1 },
		{ .type = LINK_SOCKET, .query = 1 }, /* its descriptor is missing, and no error says why */
	};
	struct link_message m = { .type = LINK_STARTED };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		setup(state);
		send_message(&bad[i], sizeof(bad[i]));
		assert_int_equal(ended, -EBADMSG);
		teardown(state);
	}
	setup(state);
	send_message(&m, sizeof(m) - 1);
	assert_int_equal(ended, -EBADMSG);
	teardown(state);
	setup(state);
	memset(m.text, 'x', sizeof(m.text)); /* not terminated */
	send_message(&m, sizeof(m));
	assert_int_equal(ended, -EBADMSG);
	teardown(state);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_descriptors_are_not_leaked(void **state)
{
	struct link_message m = { .type = LINK_STARTED };
	int before = count_fds(), fds[LISTENER_COUNT];

	(void)state;
	for (int i = 0; i < LISTENER_COUNT; i++)
		fds[i] = peer;
	m.type = LINK_LISTENERS;
	assert_int_equal(fd_pass_send(peer, &m, sizeof(m), fds, LISTENER_COUNT), sizeof(m));
	m.type = LINK_STARTED;
	assert_int_equal(fd_pass_send(peer, &m, sizeof(m), fds, 3), sizeof(m));
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(listeners, 1);
	assert_int_equal(ended, -EBADMSG);
	assert_int_equal(count_fds(), before);
}

/* What there is to serve is settled before the program runs: whoever takes pid 1 over gets no way out by a new port. */
static void test_nothing_is_handed_over_later(void **state)
{
	static const struct {
		uint32_t type;
		size_t n;
	} early[] = { { LINK_LISTENERS, LISTENER_COUNT },
		      { LINK_PTY, 1 },
		      { LINK_PORT, 1 },
		      { LINK_SSH, 1 },
		      { LINK_GPG, 1 },
		      { LINK_UNIX, 1 },
		      { LINK_CONNECTOR, 1 } };
	const struct link_message started = { .type = LINK_STARTED };

	for (size_t i = 0; i < ARRAY_SIZE(early); i++) {
		struct link_message m = {
			.type = early[i].type, .kind = PLAN_PORT_OUT, .family = AF_INET, .port = 1, .to_port = 1
		};
		int fds[LISTENER_COUNT], before;

		setup(state);
		before = count_fds();
		for (size_t n = 0; n < early[i].n; n++)
			fds[n] = peer;
		send_message(&started, sizeof(started));
		assert_int_equal(ended, 1);
		assert_int_equal(fd_pass_send(peer, &m, sizeof(m), fds, early[i].n), sizeof(m));
		uv_run(&loop, UV_RUN_NOWAIT);
		assert_int_equal(ended, -EPROTO);
		assert_int_equal(listeners, 0);
		assert_int_equal(count_fds(), before);
		teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_at_once, setup, teardown),
		cmocka_unit_test(test_many_malformed),
		cmocka_unit_test_setup_teardown(test_timeout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_and_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_question_that_cannot_be_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_that_does_not_read, setup, teardown),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_nothing_is_handed_over_later),
		cmocka_unit_test_setup_teardown(test_descriptors_are_not_leaked, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
