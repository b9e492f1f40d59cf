/* Through an upstream proxy, which the test is: what it is asked, what of its answer goes where, how it may fail. */
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
#include "hello_make.h"

#define GRANTED "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n"

static int proxy, ok80;

/* The proxy's end of a new connection, after the whole question. */
static int asked(const char *authority)
{
	char question[256], got[256];
	int u = rig_accept(proxy);

	snprintf(question, sizeof(question), "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: %s\r\n\r\n",
		 authority, authority, RIG_PROXY_AUTH);
	rig_read(u, got, strlen(question));
	assert_memory_equal(got, question, strlen(question));
	return u;
}

static int connect_to(const char *authority)
{
	char text[128];
	int c = rig_proxy();

	snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	rig_send_text(c, text);
	return c;
}

static void done(int c, int u, uint32_t reason)
{
	struct session_connection e;

	close(c);
	close(u);
	e = rig_event();
	assert_int_equal(e.reason, reason);
	assert_int_equal(e.family, 0);
}

/* Head by head, byte by byte; the host's first bytes come with the last of them. */
static void test_a_slow_answer(void **state)
{
	static const char answer[] = "HTTP/1.1 100 Continue\r\n\r\n" GRANTED;
	int c = connect_to("far.example:22"), u = asked("far.example:22");

	for (size_t i = 0; i < sizeof(answer) - 2; i++)
		rig_send(u, answer + i, 1);
	rig_send_text(u, "\nSSH-2.0-server\r\n");
	rig_expect(c, "established\r\n\r\nSSH-2.0-server\r\n");
	rig_send_text(c, "SSH-2.0-client\r\n");
	rig_expect(u, "SSH-2.0-client\r\n");
	done(c, u, EGRESS_ALLOWED);
}

/* Nothing of its head may look like the host speaking first, after which nobody looks at the client's bytes. */
static void test_names_in_a_tunnel_are_looked_at(void **state)
{
	static uint8_t hello[HELLO_MAX];
	size_t len = hello_simple("other.example", hello);

	for (int captured = 0; captured < 2; captured++) {
		int c = captured ? rig_captured("far.example", 8443) : connect_to("far.example:8443"), u;
		const char *got;
		bool reset;

		u = asked("far.example:8443");
		rig_send_text(u, GRANTED);
		if (!captured)
			rig_expect(c, " 200 ");
		rig_send(c, hello, len);
		assert_int_equal(rig_read_end(u, &got, &reset), 0);
		done(c, u, EGRESS_SNI_MISMATCH);
	}
}

/* On ports 80 and 443, too, the client hears of a refusal before it says anything. */
static void test_web(void **state)
{
	static uint8_t hello[HELLO_MAX], got[HELLO_MAX];
	size_t len = hello_simple("inner.example", hello);
	int c = connect_to("inner.example:443"), u = asked("inner.example:443");

	rig_send_text(u, GRANTED);
	rig_expect(c, " 200 ");
	rig_send(c, hello, len);
	rig_read(u, got, len);
	assert_memory_equal(got, hello, len);
	done(c, u, EGRESS_ALLOWED);
	c = connect_to("inner.example:443");
	u = asked("inner.example:443");
	rig_send_text(u, GRANTED);
	rig_expect(c, " 200 ");
	rig_send_text(c, "GET / HTTP/1.1\r\n\r\n");
	done(c, u, EGRESS_NOT_TLS);
	c = rig_captured("inner.example", 443);
	rig_send(c, hello, len);
	u = asked("inner.example:443");
	rig_send_text(u, GRANTED);
	rig_read(u, got, len);
	done(c, u, EGRESS_ALLOWED);
}

/* Two requests, one tunnel. */
static void test_kept_connection(void **state)
{
	static const char request[] = "GET http://inner.example/ HTTP/1.1\r\nHost: inner.example\r\n\r\n";
	int c = rig_proxy(), u;

	rig_send_text(c, request);
	u = asked("inner.example:80");
	rig_send_text(u, GRANTED);
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			rig_send_text(c, request);
		rig_expect(u, "GET / HTTP/1.1\r\n");
		rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		rig_expect(c, "\r\n\r\nok");
	}
	assert_true(rig_is_quiet(proxy));
	done(c, u, EGRESS_ALLOWED);
}

static void test_failures(void **state)
{
	static const struct {
		const char *answer; /* then it closes */
		uint32_t reason;
		const char *told;
	} cases[] = {
		{ "HTTP/1.1 407 Auth\r\nProxy-Authenticate: Basic\r\n\r\n", EGRESS_PROXY_AUTH, "answered 407." },
		{ "HTTP/1.1 403 No\r\nContent-Length: 1\r\n\r\nx", EGRESS_PROXY_REFUSED, "answered 403." },
		{ "HTTP/1.1 502 No\r\n\r\n", EGRESS_UNREACHABLE, "answered 502." },
		{ "HTTP/1.1 500 No\r\n\r\n", EGRESS_PROXY_UNREACHABLE, "answered 500." },
		{ "HTTP/1.1 101 Go\r\n\r\n", EGRESS_PROXY_UNREACHABLE, "no well-formed HTTP" },
		{ "SSH-2.0-x\r\n", EGRESS_PROXY_UNREACHABLE, "no well-formed HTTP" },
		{ "HTTP/1.1 200 OK\r\n", EGRESS_PROXY_UNREACHABLE, "does not answer" },
		{ "", EGRESS_PROXY_UNREACHABLE, "does not answer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int c = connect_to("inner.example:443"), u = asked("inner.example:443");

		rig_send_text(u, cases[i].answer);
		close(u);
		assert_non_null(strstr(rig_expect(c, cases[i].told), "HTTP/1.1 502 Bad Gateway (isod: "));
		done(c, -1, cases[i].reason);
	}
}

/* In its own words: statuses of HTTP are none of them. */
static void test_failures_by_socks(void **state)
{
	static const struct {
		const char *answer;
		char code;
	} cases[] = {
		{ "SSH-2.0-x\r\n", 1 }, { "", 1 }, { "HTTP/1.1 407 Auth\r\n\r\n", 1 }, { "HTTP/1.1 502 No\r\n\r\n", 4 }
	};
	static const char greeting[] = "\5\1\0", request[] = "\5\1\0\3\13far.example\0\26";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int c = rig_proxy(), u;
		char reply[10];

		rig_send(c, greeting, sizeof(greeting) - 1);
		rig_read(c, reply, 2);
		rig_send(c, request, sizeof(request) - 1);
		u = asked("far.example:22");
		rig_send_text(u, cases[i].answer);
		close(u);
		rig_read(c, reply, sizeof(reply));
		assert_int_equal(reply[1], cases[i].code);
		close(c);
		assert_int_not_equal(rig_event().reason, EGRESS_ALLOWED);
	}
}

/* By a reset: one that only sends no more may still wait for the answer. */
static void test_the_client_leaves(void **state)
{
	static const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	int c = connect_to("far.example:22"), u = asked("far.example:22");
	const char *got;
	bool reset;

	setsockopt(c, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(c);
	rig_read_end(u, &got, &reset);
	done(-1, u, EGRESS_ALLOWED);
}

/* What this machine is asked for stays here, what is refused as well. */
static void test_not_through_it(void **state)
{
	int c = rig_proxy(), u;

	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "GET / HTTP/1.1\r\n");
	close(u);
	close(c);
	rig_event();
	c = connect_to("10.0.0.1:443");
	rig_expect(c, " 403 ");
	done(c, -1, EGRESS_PRIVATE_ADDRESS);
	c = connect_to("unlisted.example:443");
	rig_expect(c, " 403 ");
	done(c, -1, EGRESS_NOT_LISTED);
	assert_true(rig_is_quiet(proxy));
}

static int setup(void **state)
{
	static struct egress_proxy way = { .family = AF_INET, .address = { 127, 0, 0, 88 }, .port = 3128 };

	proxy = rig_listen("127.0.0.88", 3128);
	ok80 = rig_listen("127.0.0.2", 80);
	rig_upstream = &way;
	rig_start();
	return 0;
}

static int teardown(void **state)
{
	rig_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_slow_answer, rig_forget),
		cmocka_unit_test_setup(test_names_in_a_tunnel_are_looked_at, rig_forget),
		cmocka_unit_test_setup(test_web, rig_forget),
		cmocka_unit_test_setup(test_kept_connection, rig_forget),
		cmocka_unit_test_setup(test_failures, rig_forget),
		cmocka_unit_test_setup(test_failures_by_socks, rig_forget),
		cmocka_unit_test_setup(test_the_client_leaves, rig_forget),
		cmocka_unit_test_setup(test_not_through_it, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
