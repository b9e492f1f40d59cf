/* Tunnels that carry anything: who speaks first, who closes first, how fast and how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "gateway_rig.h"

enum { ANSWER = 7728, LARGE = 5 << 20 };

static int raw22, ok80;
static char data[LARGE];

static int tunnel(void)
{
	int c = rig_proxy();

	rig_send_text(c, "CONNECT raw.example:22 HTTP/1.1\r\n\r\n");
	return c;
}

static void test_server_speaks_first(void **state)
{
	struct session_connection e;
	int c = rig_captured("raw.example", 22), u = rig_accept(raw22);

	(void)state;
	rig_send_text(u, "SSH-2.0-server\r\n");
	rig_expect(c, "SSH-2.0-server\r\n");
	rig_send_text(c, "SSH-2.0-client x\r\n");
	rig_expect(u, "SSH-2.0-client x\r\n");
	close(c);
	close(u);
	e = rig_event();
	assert_true(e.allowed == 1 && e.via == VIA_CAPTURE && e.port == 22);
	assert_string_equal(e.name, "raw.example");
	assert_int_equal(e.bytes_up, 18);
	assert_int_equal(e.bytes_down, 16);
	/* The first pinned address did not answer. */
	assert_true(e.family == AF_INET && e.address[3] == 5);
}

static void test_client_speaks_first(void **state)
{
	static const char *const firsts[] = { "\x01\x00\x00", "PING\r\n", "SSH-2.0-client Debian\r\n", "{\"a\":1}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		int c = tunnel(), u = rig_accept(raw22);
		char got[64];
		size_t len = i == 0 ? 3 : strlen(firsts[i]);

		rig_expect(c, " 200 ");
		rig_send(c, firsts[i], len);
		rig_read(u, got, len);
		assert_memory_equal(got, firsts[i], len);
		close(c);
		close(u);
		assert_int_equal(rig_event().allowed, 1);
	}
}

/* A first line without end, in letters of HTTP: no request, since no method begins so. */
static void test_long_text(void **state)
{
	static char text[LIMIT_HTTP_HEAD * 2], got[sizeof(text)];
	int c = tunnel(), u = rig_accept(raw22);

	(void)state;
	memset(text, 'G', sizeof(text));
	rig_expect(c, " 200 ");
	rig_send(c, text, sizeof(text));
	rig_read(u, got, sizeof(text));
	assert_memory_equal(got, text, sizeof(text));
	close(c);
	close(u);
	assert_int_equal(rig_event().allowed, 1);
}

static void test_half_close(void **state)
{
	const char *got;
	bool reset;
	int c = tunnel(), u = rig_accept(raw22);

	(void)state;
	rig_expect(c, " 200 ");
	rig_send_text(c, "\x01question");
	shutdown(c, SHUT_WR);
	assert_int_equal(rig_read_end(u, &got, &reset), 9);
	rig_send_text(u, "answer");
	close(u);
	rig_read_end(c, &got, &reset);
	assert_string_equal(got, "answer");
	assert_false(reset);
	close(c);
	assert_int_equal(rig_event().bytes_down, 6);
}

/* The server writes and is gone at once; the client is slow. */
static void test_server_closes_first(void **state)
{
	const char *got;
	bool reset;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int c = tunnel(), u = rig_accept(raw22);
		size_t len;

		rig_send(u, data, ANSWER);
		/* With bytes of the client unread, so that close() resets. */
		if (i % 2)
			rig_send_text(c, "\x01unread");
		close(u);
		len = rig_read_end(c, &got, &reset);
		got = strstr(got, "\r\n\r\n") + 4;
		if (i % 2 == 0) {
			assert_false(reset);
			assert_int_equal(len, ANSWER + 39);
			assert_memory_equal(got, data, ANSWER);
		}
		close(c);
	}
	for (int i = 0; i < 1000; i++)
		rig_event();
}

static void test_large_answer_slow_reader(void **state)
{
	static char got[LARGE];
	int c = rig_captured("ok.example", 80), u;
	char head[128];
	pid_t server;

	(void)state;
	rig_send_text(c, "GET / HTTP/1.1\r\nHost: ok.example\r\nConnection: close\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	server = fork();
	if (server == 0) {
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
		rig_send_text(u, head);
		rig_send(u, data, LARGE);
		_exit(0);
	}
	close(u);
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", LARGE);
	rig_read(c, got, strlen(head));
	for (size_t i = 0; i < LARGE; i += 4096)
		rig_read(c, got + i, 4096);
	assert_memory_equal(got, data, LARGE);
	assert_int_equal(recv(c, got, 1, 0), 0);
	close(c);
	assert_int_equal(waitpid(server, NULL, 0), server);
	assert_true(rig_event().bytes_down >= LARGE);
}

static void test_both_ways_at_once(void **state)
{
	int c = tunnel(), u = rig_accept(raw22);
	static char got[LARGE];
	pid_t pids[2];

	(void)state;
	rig_expect(c, " 200 ");
	rig_send_text(c, "\x01");
	rig_read(u, got, 1);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			rig_send(i == 0 ? c : u, data, LARGE);
			_exit(0);
		}
	}
	rig_read(u, got, LARGE);
	assert_memory_equal(got, data, LARGE);
	memset(got, 0, LARGE);
	rig_read(c, got, LARGE);
	assert_memory_equal(got, data, LARGE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	close(c);
	close(u);
	assert_int_equal(rig_event().bytes_up, LARGE + 1);
}

/* More connections than descriptors: those in excess wait, nothing spins, nothing is lost. */
static void test_out_of_descriptors(void **state)
{
	struct rlimit old, low;
	int clients[40], u, spare;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		clients[i] = -1;
	spare = dup(raw22);
	low = old;
	for (size_t i = 0; i < ARRAY_SIZE(clients) / 2; i++)
		clients[i] = rig_proxy();
	low.rlim_cur = (rlim_t)spare + 30;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients) / 2; i++)
		rig_send_text(clients[i], "CONNECT raw.example:22 HTTP/1.1\r\n\r\n");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	close(spare);
	for (size_t i = 0; i < ARRAY_SIZE(clients) / 2; i++) {
		rig_expect(clients[i], "HTTP/1.1 ");
		close(clients[i]);
	}
	while (!rig_is_quiet(raw22)) {
		u = rig_accept(raw22);
		close(u);
	}
	/* Served or told that it is not: each has its event. Then all is as before. */
	for (size_t i = 0; i < ARRAY_SIZE(clients) / 2; i++)
		rig_event();
	test_client_speaks_first(state);
}

static void test_many_at_once(void **state)
{
	enum { MANY = 200 };
	int c[MANY], u[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++)
		c[i] = tunnel();
	for (int i = 0; i < MANY; i++) {
		u[i] = rig_accept(raw22);
		rig_send_text(u[i], "hi");
	}
	for (int i = 0; i < MANY; i++) {
		rig_expect(c[i], "hi");
		close(c[i]);
		close(u[i]);
	}
	for (int i = 0; i < MANY; i++)
		assert_int_equal(rig_event().allowed, 1);
}

/* The gateway goes while connections are open in every state. */
static void test_closing_with_connections(void **state)
{
	int c[4] = { rig_proxy(), tunnel(), tunnel(), rig_proxy() };
	int u = rig_accept(raw22);

	(void)state;
	rig_send_text(c[0], "GET http");
	rig_send_text(c[3], "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	close(rig_accept(raw22));
	rig_stop();
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		close(c[i]);
	close(u);
	rig_start();
}

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i % 23);
	rig_start();
	raw22 = rig_listen("127.0.0.5", 22);
	ok80 = rig_listen("127.0.0.2", 80);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_server_speaks_first, rig_forget),
		cmocka_unit_test_setup(test_client_speaks_first, rig_forget),
		cmocka_unit_test_setup(test_half_close, rig_forget),
		cmocka_unit_test_setup(test_long_text, rig_forget),
		cmocka_unit_test_setup(test_server_closes_first, rig_forget),
		cmocka_unit_test_setup(test_large_answer_slow_reader, rig_forget),
		cmocka_unit_test_setup(test_both_ways_at_once, rig_forget),
		cmocka_unit_test_setup(test_out_of_descriptors, rig_forget),
		cmocka_unit_test_setup(test_many_at_once, rig_forget),
		cmocka_unit_test_setup(test_closing_with_connections, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
