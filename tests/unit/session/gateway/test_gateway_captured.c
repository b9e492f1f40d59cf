/* Plain HTTP on a captured connection: its target is fixed, and every request on it must name that one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gateway_rig.h"

#define REQUEST(host) "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static int ok80, a80;

static void expect_exactly(int fd, const char *text)
{
	char got[4096];
	size_t len = strlen(text);

	rig_read(fd, got, len);
	got[len] = '\0';
	assert_string_equal(got, text);
}

/* So many were served, and then one was refused. */
static void check_events(uint64_t served, uint32_t reason)
{
	struct session_connection e = rig_event();

	assert_string_equal(e.name, "ok.example");
	assert_int_equal(e.via, VIA_CAPTURE);
	assert_int_equal(e.allowed, 1);
	assert_int_equal(e.count, served);
	e = rig_event();
	assert_string_equal(egress_reason_name(e.reason), egress_reason_name(reason));
	assert_string_equal(e.name, "ok.example");
	assert_true(rig_no_event());
	assert_true(rig_is_quiet(a80));
}

/* Nothing of the refused request reaches the server. */
static void expect_refused(int c, int u)
{
	const char *got;
	bool reset;

	rig_read_end(c, &got, &reset);
	assert_non_null(strstr(got, "host-mismatch"));
	assert_int_equal(rig_read_end(u, &got, &reset), 0);
	close(c);
	close(u);
}

static void test_each_request_names_its_host(void **state)
{
	static const char *const spellings[] = { "ok.example", "OK.Example", "ok.example:80", "ok.example.",
						 "Ok.Example.:80" };
	int c = rig_captured("ok.example", 80), u = -1;
	char request[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		snprintf(request, sizeof(request), REQUEST("%s"), spellings[i]);
		rig_send_text(c, request);
		if (u < 0)
			u = rig_accept(ok80);
		/* The server is told of it in one spelling. */
		expect_exactly(u, REQUEST("ok.example"));
		rig_send_text(u, EMPTY);
		expect_exactly(c, EMPTY);
	}
	rig_send_text(c, REQUEST("a.example"));
	expect_refused(c, u);
	check_events(ARRAY_SIZE(spellings), EGRESS_HOST_MISMATCH);
}

static void test_pipelined(void **state)
{
	int c = rig_captured("ok.example", 80), u;

	(void)state;
	rig_send_text(c, REQUEST("ok.example") REQUEST("ok.example") REQUEST("a.example") REQUEST("ok.example"));
	u = rig_accept(ok80);
	for (int i = 0; i < 2; i++) {
		expect_exactly(u, REQUEST("ok.example"));
		rig_send_text(u, EMPTY);
		expect_exactly(c, EMPTY);
	}
	expect_refused(c, u);
	check_events(2, EGRESS_HOST_MISMATCH);
}

/* What is in a body is no request; what follows it is one. */
static void test_after_a_body(void **state)
{
	static const char *const bodies[] = {
		"Content-Length: 35\r\n\r\n" REQUEST("a.example"),
		"Transfer-Encoding: chunked\r\n\r\n23\r\n" REQUEST("a.example") "\r\n0\r\n\r\n",
	};
	char request[256];

	(void)state;
	assert_int_equal(strlen(REQUEST("a.example")), 35);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		int c = rig_captured("ok.example", 80), u;

		snprintf(request, sizeof(request), "POST /x HTTP/1.1\r\nHost: ok.example\r\n%s", bodies[i]);
		rig_send_text(c, request);
		rig_send_text(c, REQUEST("a.example"));
		u = rig_accept(ok80);
		expect_exactly(u, request);
		rig_send_text(u, EMPTY);
		expect_exactly(c, EMPTY);
		expect_refused(c, u);
		check_events(1, EGRESS_HOST_MISMATCH);
	}
}

static void test_continue(void **state)
{
	static const char head[] =
		"PUT / HTTP/1.1\r\nHost: ok.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
	int c = rig_captured("ok.example", 80), u;

	(void)state;
	rig_send_text(c, head);
	u = rig_accept(ok80);
	expect_exactly(u, head);
	rig_send_text(u, "HTTP/1.1 100 Continue\r\n\r\n");
	expect_exactly(c, "HTTP/1.1 100 Continue\r\n\r\n");
	rig_send_text(c, "hello" REQUEST("a.example"));
	expect_exactly(u, "hello");
	rig_send_text(u, EMPTY);
	expect_exactly(c, EMPTY);
	expect_refused(c, u);
	check_events(1, EGRESS_HOST_MISMATCH);
}

/* An upgrade is for the named host too; one that the server declines leaves a connection of requests. */
static void test_upgrade(void **state)
{
	static const char head[] =
		"GET / HTTP/1.1\r\nHost: ok.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
	const char *got;
	bool reset;
	int c = rig_captured("ok.example", 80), u;

	(void)state;
	rig_send_text(c, head);
	u = rig_accept(ok80);
	expect_exactly(u, head);
	rig_send_text(u, EMPTY);
	expect_exactly(c, EMPTY);
	rig_send_text(c, REQUEST("a.example"));
	expect_refused(c, u);
	check_events(1, EGRESS_HOST_MISMATCH);
	c = rig_captured("ok.example", 80);
	rig_send_text(c, "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	rig_read_end(c, &got, &reset);
	assert_non_null(strstr(got, "host-mismatch"));
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_HOST_MISMATCH);
	assert_true(rig_is_quiet(ok80) && rig_is_quiet(a80));
}

static int setup(void **state)
{
	(void)state;
	rig_start();
	ok80 = rig_listen("127.0.0.2", 80);
	a80 = rig_listen("127.0.0.3", 80);
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
		cmocka_unit_test_setup(test_each_request_names_its_host, rig_forget),
		cmocka_unit_test_setup(test_pipelined, rig_forget),
		cmocka_unit_test_setup(test_after_a_body, rig_forget),
		cmocka_unit_test_setup(test_continue, rig_forget),
		cmocka_unit_test_setup(test_upgrade, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
