/* Requests that are allowed: what the server sees, what the client gets back, and what comes after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gateway_rig.h"

static int ok80, a80, b80, raw8080;

static void expect_exactly(int fd, const char *text)
{
	char got[4096];
	size_t len = strlen(text);

	rig_read(fd, got, len);
	got[len] = '\0';
	assert_string_equal(got, text);
}

static void check_event(const char *name, uint32_t reason, uint64_t count)
{
	struct session_connection e = rig_event();

	assert_string_equal(e.name, name);
	assert_string_equal(egress_reason_name(e.reason), egress_reason_name(reason));
	assert_int_equal(e.count, count);
}

/* Several hosts over one connection, kept alive, in order; the third is refused. */
static void test_several_hosts(void **state)
{
	int c = rig_proxy(), a, b;

	(void)state;
	rig_send_text(c, "GET http://a.example/1 HTTP/1.1\r\nHost: a.example\r\n\r\n"
			 "GET http://b.example:80/2 HTTP/1.1\r\nHost: b.example\r\n\r\n"
			 "GET http://evil.example/3 HTTP/1.1\r\nHost: evil.example\r\n\r\n"
			 "GET http://a.example/4 HTTP/1.1\r\nHost: a.example\r\n\r\n");
	a = rig_accept(a80);
	expect_exactly(a, "GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n");
	assert_true(rig_is_quiet(b80));
	rig_send_text(a, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA");
	expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA");
	b = rig_accept(b80);
	expect_exactly(b, "GET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n");
	rig_send_text(b, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nB\r\n0\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nB\r\n0\r\n\r\n");
	rig_expect(c, "HTTP/1.1 403 ");
	close(c);
	check_event("a.example", EGRESS_ALLOWED, 1);
	check_event("b.example", EGRESS_ALLOWED, 1);
	check_event("evil.example", EGRESS_NOT_LISTED, 1);
	assert_true(rig_is_quiet(a80));
	close(a);
	close(b);
}

/* The upstream connection is kept for the same host, and the events of a run are one. */
static void test_keep_alive(void **state)
{
	int c = rig_proxy(), u = -1;

	(void)state;
	for (int i = 0; i < 50; i++) {
		rig_send_text(c, "GET http://ok.example HTTP/1.1\r\nHost: ok.example\r\n\r\n");
		if (u < 0)
			u = rig_accept(ok80);
		expect_exactly(u, "GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n");
		rig_send_text(u, "HTTP/1.1 204 No Content\r\n\r\n");
		expect_exactly(c, "HTTP/1.1 204 No Content\r\n\r\n");
	}
	assert_true(rig_is_quiet(ok80));
	rig_send_text(c, "GET http://evil.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	rig_expect(c, " 403 ");
	close(c);
	close(u);
	check_event("ok.example", EGRESS_ALLOWED, 50);
	check_event("evil.example", EGRESS_NOT_LISTED, 1);
}

/* A kept connection that the server has closed meanwhile is not the client's problem. */
static void test_upstream_closed_between_requests(void **state)
{
	int c = rig_proxy(), u;

	(void)state;
	for (int i = 0; i < 3; i++) {
		rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
		u = rig_accept(ok80);
		rig_expect(u, "\r\n\r\n");
		rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		close(u);
	}
	/* And one that it closes upon the request itself: asked once more, on a new connection. */
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	rig_send_text(c, "GET http://ok.example/again HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	rig_expect(u, "/again");
	close(u);
	u = rig_accept(ok80);
	rig_expect(u, "/again");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	rig_expect(c, "ok");
	close(c);
	close(u);
	check_event("ok.example", EGRESS_ALLOWED, 5);
}

/* The same with a request that may have done something: it is not sent twice. */
static void test_post_is_not_repeated(void **state)
{
	int c = rig_proxy(), u;

	(void)state;
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	rig_send_text(c, "POST http://ok.example/pay HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	rig_expect(u, "/pay");
	close(u);
	rig_expect(c, "HTTP/1.1 502 ");
	assert_true(rig_is_quiet(ok80));
	close(c);
	check_event("ok.example", EGRESS_ALLOWED, 1);
	check_event("ok.example", EGRESS_UNREACHABLE, 1);
}

/* What the client smuggles behind a body is a request like any other. */
static void test_smuggled(void **state)
{
	static const char *const requests[] = {
		"POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nContent-Length: 5\r\n\r\nhello",
		"POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n0\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		int c = rig_proxy(), u;
		const char *got;
		bool reset;

		rig_send_text(c, requests[i]);
		rig_send_text(c, "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
		u = rig_accept(ok80);
		rig_expect(u, i == 0 ? "\r\n\r\nhello" : "0\r\n\r\n");
		rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		rig_expect(c, " 403 ");
		close(c);
		assert_int_equal(rig_read_end(u, &got, &reset), 0);
		close(u);
		check_event("ok.example", EGRESS_ALLOWED, 1);
		check_event("evil.example", EGRESS_NOT_LISTED, 1);
	}
}

/* A body that turns out malformed when its head is with the server already. */
static void test_bad_chunk_later(void **state)
{
	int c = rig_proxy(), u;
	const char *got;
	bool reset;

	(void)state;
	rig_send_text(c, "POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "5\r\nhel");
	u = rig_accept(ok80);
	rig_expect(u, "hel");
	rig_send_text(c, "lo\r\n5\nevil!");
	rig_expect(c, " 400 ");
	rig_read_end(u, &got, &reset);
	assert_null(strstr(got, "evil"));
	close(c);
	close(u);
	check_event("ok.example", EGRESS_BAD_HTTP, 1);
}

static void test_hop_by_hop(void **state)
{
	int c = rig_captured("ok.example", 80), u;

	(void)state;
	rig_send_text(
		c, "GET /p?q HTTP/1.1\r\nX: 1\r\nhost: OK.Example.:80\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
		   "Upgrade: h2c\r\nHTTP2-Settings: A\r\nProxy-Authorization: Basic x\r\nTE: gzip\r\n\r\n");
	u = rig_accept(ok80);
	expect_exactly(u, "GET /p?q HTTP/1.1\r\nHost: ok.example\r\nX: 1\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nConnection: close\r\nKeep-Alive: 3\r\nContent-Length: 2\r\n\r\nhi");
	/* The server's wish to close is its own matter. */
	expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	close(c);
	close(u);
	check_event("ok.example", EGRESS_ALLOWED, 1);
}

static void test_bodies_by_status(void **state)
{
	static const struct {
		const char *method;
		const char *reply;
	} cases[] = {
		{ "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" },
		{ "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" },
		{ "HEAD", "HTTP/1.1 200 OK\r\n\r\n" },
		{ "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n" },
		{ "GET", "HTTP/1.1 204 No Content\r\n\r\n" },
		{ "GET", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" },
	};
	int c = rig_proxy(), u = -1;
	char request[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(request, sizeof(request), "%s http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
			 cases[i].method);
		rig_send_text(c, request);
		if (u < 0)
			u = rig_accept(ok80);
		rig_expect(u, "\r\n\r\n");
		rig_send_text(u, cases[i].reply);
		expect_exactly(c, cases[i].reply);
	}
	close(c);
	close(u);
	check_event("ok.example", EGRESS_ALLOWED, ARRAY_SIZE(cases));
}

static void test_continue(void **state)
{
	static const char request[] = "PUT http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nExpect: 100-continue\r\n"
				      "Content-Length: 5\r\n\r\n";
	const char *got;
	bool reset;
	int c, u;

	(void)state;
	/* The server says go on. */
	c = rig_proxy();
	rig_send_text(c, request);
	u = rig_accept(ok80);
	rig_expect(u, "Expect: 100-continue\r\n");
	rig_send_text(u, "HTTP/1.1 100 Continue\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 100 Continue\r\n\r\n");
	rig_send_text(c, "hello");
	rig_expect(u, "hello");
	rig_send_text(u, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	close(c);
	close(u);
	/* It does not want it: what the client sends next could be either, so the connection ends. */
	c = rig_proxy();
	rig_send_text(c, request);
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
	rig_read_end(c, &got, &reset);
	assert_string_equal(got, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	assert_false(reset);
	close(c);
	close(u);
	/* It says nothing, and the client goes on by itself. */
	c = rig_proxy();
	rig_send_text(c, request);
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(c, "hello");
	rig_expect(u, "hello");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	close(c);
	close(u);
	for (int i = 0; i < 3; i++)
		check_event("ok.example", EGRESS_ALLOWED, 1);
}

static void test_websocket(void **state)
{
	struct session_connection e;
	int c = rig_captured("ok.example", 80), u;

	(void)state;
	rig_send_text(c, "GET /ws HTTP/1.1\r\nHost: ok.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	u = rig_accept(ok80);
	expect_exactly(u, "GET /ws HTTP/1.1\r\nHost: ok.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	rig_send_text(u,
		      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x01s");
	expect_exactly(
		c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x01s");
	rig_send_text(c, "\x81\x01"
			 "c");
	expect_exactly(u, "\x81\x01"
			  "c");
	rig_send_text(u, "GET / HTTP/1.1\r\n");
	expect_exactly(c, "GET / HTTP/1.1\r\n");
	close(c);
	close(u);
	e = rig_event();
	assert_int_equal(e.allowed, 1);
	assert_true(e.bytes_up > 70 && e.bytes_down > 70);
}

static void test_bad_replies(void **state)
{
	static const char *const replies[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 1\n\n",
		"HTTP/2 200\r\n\r\n",
		"SSH-2.0-x\r\n",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
		int c = rig_proxy(), u;

		rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
		u = rig_accept(ok80);
		rig_expect(u, "\r\n\r\n");
		rig_send_text(u, replies[i]);
		shutdown(u, SHUT_WR);
		rig_expect(c, "HTTP/1.1 502 ");
		close(c);
		close(u);
		check_event("ok.example", i == ARRAY_SIZE(replies) - 1 ? EGRESS_UNREACHABLE : EGRESS_BAD_HTTP, 1);
	}
}

static void test_until_close(void **state)
{
	const char *got;
	bool reset;
	int c = rig_proxy(), u;

	(void)state;
	rig_send_text(c, "GET http://ok.example/ HTTP/1.0\r\n\r\n");
	u = rig_accept(ok80);
	expect_exactly(u, "GET / HTTP/1.0\r\nHost: ok.example\r\n\r\n");
	rig_send_text(u, "HTTP/1.0 200 OK\r\n\r\nsome");
	rig_expect(c, "some");
	rig_send_text(u, "thing");
	close(u);
	assert_int_equal(rig_read_end(c, &got, &reset), 5);
	assert_false(reset);
	close(c);
	check_event("ok.example", EGRESS_ALLOWED, 1);
}

/* On any port: what begins like a request has its Host looked at, each time. */
static void test_other_port(void **state)
{
	int c = rig_captured("raw.example", 8080), u = rig_accept(raw8080);

	(void)state;
	rig_send_text(c, "GET / HTTP/1.1\r\nHost: raw.exa");
	rig_send_text(c, "mple:8080\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example:8080\r\n\r\n");
	expect_exactly(u, "GET / HTTP/1.1\r\nHost: raw.example:8080\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	expect_exactly(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect(c, " 403 ");
	close(c);
	close(u);
	check_event("raw.example", EGRESS_ALLOWED, 1);
	check_event("raw.example", EGRESS_HOST_MISMATCH, 1);
	assert_true(rig_is_quiet(raw8080));
}

static void test_connect_to_port_80(void **state)
{
	int c = rig_proxy(), u;

	(void)state;
	rig_send_text(c, "CONNECT ok.example:80 HTTP/1.1\r\n\r\n");
	rig_expect(c, " 200 ");
	assert_true(rig_is_quiet(ok80));
	rig_send_text(c, "GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect(c, "hi");
	rig_send_text(c, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
	rig_expect(c, "host-mismatch");
	close(c);
	close(u);
	check_event("ok.example", EGRESS_ALLOWED, 1);
	check_event("ok.example", EGRESS_HOST_MISMATCH, 1);
}

static int setup(void **state)
{
	(void)state;
	rig_start();
	ok80 = rig_listen("127.0.0.2", 80);
	a80 = rig_listen("127.0.0.3", 80);
	b80 = rig_listen("127.0.0.4", 80);
	raw8080 = rig_listen("127.0.0.5", 8080);
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
		cmocka_unit_test_setup(test_several_hosts, rig_forget),
		cmocka_unit_test_setup(test_keep_alive, rig_forget),
		cmocka_unit_test_setup(test_upstream_closed_between_requests, rig_forget),
		cmocka_unit_test_setup(test_post_is_not_repeated, rig_forget),
		cmocka_unit_test_setup(test_smuggled, rig_forget),
		cmocka_unit_test_setup(test_bad_chunk_later, rig_forget),
		cmocka_unit_test_setup(test_hop_by_hop, rig_forget),
		cmocka_unit_test_setup(test_bodies_by_status, rig_forget),
		cmocka_unit_test_setup(test_continue, rig_forget),
		cmocka_unit_test_setup(test_websocket, rig_forget),
		cmocka_unit_test_setup(test_bad_replies, rig_forget),
		cmocka_unit_test_setup(test_until_close, rig_forget),
		cmocka_unit_test_setup(test_other_port, rig_forget),
		cmocka_unit_test_setup(test_connect_to_port_80, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
