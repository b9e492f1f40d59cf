/* Peers that mean no good: what they can make the gateway keep, send twice or forget to close. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "gateway_rig.h"
#include "hello_make.h"

#define GET "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n"

/* More than is held together, in heads of nearly the largest size. */
enum { HEADS = 800, HEAD = 60 << 10, UNREAD_MAX = 48 << 20 };

static int raw22, ok80;

static void reset(int fd)
{
	static const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Sends until the peer takes no more for a second, or 48 MiB. Returns what it has taken. */
static size_t send_until_full(int fd, const char *text)
{
	size_t len = strlen(text), sent = 0;
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (sent < UNREAD_MAX) {
		ssize_t n = send(fd, text + sent % len, len - sent % len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN && poll(&p, 1, 1000) > 0)
			continue;
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	return sent;
}

/* Interim replies without end, to a client that reads none of them. */
static void test_interim_replies_wait_for_the_client(void **state)
{
	static char head[HEAD];
	int c = rig_proxy(), u;

	(void)state;
	snprintf(head, sizeof(head), "HTTP/1.1 103 Early Hints\r\nLink: %0*d\r\n\r\n", HEAD / 2, 0);
	rig_send_text(c, GET "\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	assert_true(send_until_full(u, head) < UNREAD_MAX);
	assert_true(rig_held() < LIMIT_SESSION_BUFFERS);
	reset(c);
	close(u);
	assert_int_equal(rig_wait_empty(), 0);
	rig_event();
}

/* Neither side reads: what each has sent is kept within bounds. */
static void test_nobody_reads(void **state)
{
	int c = rig_proxy(), u;

	(void)state;
	rig_send_text(c, "CONNECT raw.example:22 HTTP/1.1\r\n\r\n");
	rig_expect(c, " 200 ");
	rig_send_text(c, "\x01");
	u = rig_accept(raw22);
	assert_true(send_until_full(c, "up") < UNREAD_MAX);
	assert_true(send_until_full(u, "down") < UNREAD_MAX);
	assert_true(rig_held() <= (size_t)(512 << 10));
	reset(u);
	close(c);
	assert_int_equal(rig_wait_empty(), 0);
	rig_event();
}

static void test_heads_are_bounded_together(void **state)
{
	static int clients[HEADS];
	static char head[HEAD];
	unsigned refused = 0;

	(void)state;
	memset(head, 'x', sizeof(head));
	memcpy(head, GET "X: ", sizeof(GET "X: ") - 1);
	for (size_t i = 0; i < HEADS; i++) {
		clients[i] = rig_proxy();
		assert_int_equal(fcntl(clients[i], F_SETFL, O_NONBLOCK), 0);
		for (size_t sent = 0; sent < HEAD;) {
			ssize_t n = send(clients[i], head + sent, HEAD - sent, MSG_NOSIGNAL);
			struct pollfd p = { .fd = clients[i], .events = POLLOUT };

			if (n < 0 && errno == EAGAIN && poll(&p, 1, 5000) > 0)
				continue;
			if (n < 0)
				break; /* refused while it was sent */
			sent += (size_t)n;
		}
		assert_true(rig_held() <= LIMIT_SESSION_BUFFERS + (128U << 10));
	}
	for (size_t i = 0; i < HEADS; i++) {
		reset(clients[i]);
		refused += rig_event().reason == EGRESS_LIMIT;
	}
	assert_true(refused > 0 && refused < HEADS);
	assert_int_equal(rig_wait_empty(), 0);
}

/* What a kept connection has once needed is not kept with it. */
static void test_quiet_connections_hold_nothing(void **state)
{
	static char value[HEAD];
	int c = rig_proxy(), u;

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	rig_send_text(c, GET "X: ");
	rig_send_text(c, value);
	rig_send_text(c, "\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	rig_expect(c, "ok");
	assert_int_equal(rig_held(), 0);
	close(c);
	close(u);
	rig_event();
}

/* Each name in a Connection field is compared with each field: tens of thousands would keep the gateway busy. */
static void test_connection_fields_are_bounded(void **state)
{
	static char names[LIMIT_HTTP_CONNECTION + 2];
	int c = rig_proxy();

	(void)state;
	memset(names, ',', sizeof(names) - 1);
	rig_send_text(c, GET "Connection: ");
	rig_send_text(c, names);
	rig_send_text(c, "a\r\n\r\n");
	rig_expect(c, "HTTP/1.1 400 ");
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_BAD_HTTP);
	assert_true(rig_is_quiet(ok80));
}

/* The next request lies where the first one's method was, once that has been taken out of the buffer. */
static void test_only_the_request_itself_may_be_repeated(void **state)
{
	int c = rig_proxy(), u;
	bool was_reset;
	const char *got;

	(void)state;
	rig_send_text(c, GET "\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	rig_expect(c, "ok");
	rig_send_text(c, "PUT http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n" GET "\r\n");
	rig_expect(u, "PUT / ");
	close(u);
	rig_read_end(c, &got, &was_reset);
	assert_non_null(strstr(got, "HTTP/1.1 502 "));
	assert_true(rig_is_quiet(ok80));
	close(c);
	rig_event();
	rig_event();
}

/* What a client has said when it ends, and how far that leads. */
static const struct {
	const char *name; /* NULL: to the proxy */
	uint16_t port;
	const char *text;
	int server; /* 0: none comes, 1: at port 80, 2: at port 22 */
	const char *answer;
} states[] = {
	{ NULL, 0, "", 0, "" },
	{ NULL, 0, "G", 0, "" },
	{ NULL, 0, GET, 0, "" },
	{ NULL, 0, "\x05", 0, "" },
	{ NULL, 0, "\x05\x01\x00", 0, "" },
	{ NULL, 0, "\x16\x03\x01", 0, "" },
	{ NULL, 0, GET "\r\n", 1, "" },
	{ NULL, 0, GET "\r\n", 1, "HTTP/1.1 2" },
	{ NULL, 0, GET "\r\n", 1, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf" },
	{ NULL, 0, GET "\r\n", 1, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" },
	{ NULL, 0, GET "\r\n", 1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab" },
	{ NULL, 0, GET "Content-Length: 9\r\n\r\nhalf", 1, "" },
	{ NULL, 0, GET "Transfer-Encoding: chunked\r\n\r\n5\r\nab", 1, "" },
	{ NULL, 0, "CONNECT ok.example:443 HTTP/1.1\r\n\r\n", 0, "" },
	{ NULL, 0, "CONNECT ok.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01\x02", 0, "" },
	{ NULL, 0, "CONNECT raw.example:22 HTTP/1.1\r\n\r\n", 2, "" },
	{ NULL, 0, "CONNECT raw.example:22 HTTP/1.1\r\n\r\nGET / HT", 2, "" },
	{ NULL, 0, "CONNECT raw.example:22 HTTP/1.1\r\n\r\n\x01tunnel", 2, "SSH" },
	{ NULL, 0, "CONNECT closed.example:443 HTTP/1.1\r\n\r\n", 0, "" },
	{ NULL, 0, "CONNECT unlisted.example:443 HTTP/1.1\r\n\r\n", 0, "" },
	{ NULL, 0, "CONNECT inner.example:80 HTTP/1.1\r\n\r\n", 0, "" },
	{ "ok.example", 443, "", 0, "" },
	{ "ok.example", 443, "\x16\x03\x01\x02", 0, "" },
	{ "ok.example", 80, "GET / HTTP/1.1\r\n", 0, "" },
	{ "raw.example", 22, "", 2, "" },
	{ "raw.example", 22, "\x16\x03\x01", 2, "" },
};

static unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

enum ending { FIN, RESET, SERVER_FIN, SERVER_RESET, ENDINGS };

static void end_in_state(size_t i, enum ending how)
{
	int c = states[i].name ? rig_captured(states[i].name, states[i].port) : rig_proxy();
	int u = -1;

	if (states[i].name)
		rig_wait_judged();
	if (states[i].text[0])
		rig_send_text(c, states[i].text);
	if (states[i].server)
		u = rig_accept(states[i].server == 1 ? ok80 : raw22);
	if (states[i].answer[0])
		rig_send_text(u, states[i].answer);
	if (u >= 0 && how >= SERVER_FIN) {
		how == SERVER_FIN ? (void)close(u) : reset(u);
		u = -1;
	}
	how == RESET ? reset(c) : (void)close(c);
	fd_close(u);
}

/* Each end in each state: nothing stays open, and nothing counted. */
static void test_every_end_in_every_state(void **state)
{
	unsigned before;

	(void)state;
	rig_wait_empty();
	before = open_files();
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		for (int how = FIN; how < ENDINGS; how++)
			end_in_state(i, (enum ending)how);
	assert_int_equal(rig_wait_empty(), 0);
	/* Where a resolver's thread has begun, it may have files of its own open. */
	for (int i = 0; i < 5000 && open_files() > before; i++)
		usleep(1000);
	assert_true(open_files() <= before);
	rig_forget(NULL);
}

static int setup(void **state)
{
	struct rlimit files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
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
		cmocka_unit_test_setup(test_interim_replies_wait_for_the_client, rig_forget),
		cmocka_unit_test_setup(test_nobody_reads, rig_forget),
		cmocka_unit_test_setup(test_heads_are_bounded_together, rig_forget),
		cmocka_unit_test_setup(test_quiet_connections_hold_nothing, rig_forget),
		cmocka_unit_test_setup(test_connection_fields_are_bounded, rig_forget),
		cmocka_unit_test_setup(test_only_the_request_itself_may_be_repeated, rig_forget),
		cmocka_unit_test_setup(test_every_end_in_every_state, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
