/* What comes in at either door and what is answered, without anything going out. */
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

static int ok80, ok443, a80;

#define H11 " HTTP/1.1\r\n"
#define OK_HOST "Host: ok.example\r\n"

struct refusal {
	const char *sent;
	const char *status;
	uint32_t reason;
	const char *body; /* in the answer; NULL: anything */
};

static const struct refusal at_proxy[] = {
	{ "GET http://evil.example/log?x=1" H11 "Host: evil.example\r\n\r\n", "403", EGRESS_NOT_LISTED,
	  "isoctl run --allow-domain evil.example\n" },
	{ "CONNECT evil.example:443" H11 "\r\n", "403", EGRESS_NOT_LISTED, "--allow-domain evil.example\n" },
	{ "CONNECT evil.example:22" H11 "\r\n", "403", EGRESS_NOT_LISTED, "--allow-domain evil.example:22\n" },
	{ "CONNECT ok.example:22" H11 "\r\n", "403", EGRESS_PORT, "--allow-domain ok.example:22\n" },
	{ "CONNECT deny.example:443" H11 "\r\n", "403", EGRESS_DENIED, NULL },
	{ "CONNECT inner.example.:0443" H11 "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT localhost:5432" H11 "\r\n", "403", EGRESS_PRIVATE_ADDRESS, NULL },
	{ "CONNECT foo.localhost:80" H11 "\r\n", "403", EGRESS_PRIVATE_ADDRESS, NULL },
	{ "CONNECT 127.0.0.2:22" H11 "\r\n", "403", EGRESS_PRIVATE_ADDRESS, NULL },
	{ "CONNECT [::2]:631" H11 "\r\n", "403", EGRESS_PRIVATE_ADDRESS, NULL },
	{ "CONNECT [2001:db8::1]:443" H11 "\r\n", "403", EGRESS_PRIVATE_ADDRESS, NULL },
	{ "CONNECT 93.184.216.34:443" H11 "\r\n", "403", EGRESS_ADDRESS_LITERAL, "--allow-domain 93.184.216.34\n" },
	{ "CONNECT [::ffff:127.0.0.9]:443" H11 "\r\n", "200", EGRESS_ALLOWED, NULL },
	/* Malformed targets */
	{ "CONNECT 2001:db8::1:443" H11 "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT [2001:db8::1]" H11 "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT [::1%25lo]:443" H11 "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT [v1.x]:443" H11 "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT [127.0.0.1]:443" H11 "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT ok.example" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, "host:port" },
	{ "CONNECT ok.example:" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT ok.example:0" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT ok.example:65536" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT ok.example:+443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT :443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT /" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT u@ok.example:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT http://ok.example:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "CONNECT ok.example..:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT 127.0.0.1..:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT 0x7f.1:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT 2130706433:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_NAME, NULL },
	{ "CONNECT ok.example:443" H11 "Content-Length: 5\r\n\r\nhello", "400", EGRESS_BAD_HTTP, NULL },
	/* Not for a proxy */
	{ "GET /" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, "This is a proxy." },
	{ "OPTIONS *" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET https://ok.example/" H11 OK_HOST "\r\n", "501", EGRESS_BAD_HTTP, "HTTPS_PROXY" },
	{ "GET ftp://ok.example/" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET http:///x" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET http://u:p@ok.example/" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET http://ok.example#x" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", EGRESS_BAD_HTTP, NULL },
	/* Host and authority */
	{ "GET http://ok.example/" H11 "Host: evil.example\r\n\r\n", "403", EGRESS_HOST_MISMATCH, NULL },
	{ "GET http://ok.example/" H11 "Host: ok.example:81\r\n\r\n", "403", EGRESS_HOST_MISMATCH, NULL },
	{ "GET http://ok.example/" H11 "Host:\r\n\r\n", "403", EGRESS_HOST_MISMATCH, NULL },
	{ "GET http://ok.example/" H11 "\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET http://ok.example/" H11 OK_HOST "Host: evil.example\r\n\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET http://ok.example:443/" H11 "Host: ok.example:443\r\n\r\n", "403", EGRESS_NOT_TLS, NULL },
	/* Framing */
	{ "POST http://ok.example/" H11 OK_HOST "Content-Length: 4\r\nContent-Length: 5\r\n\r\n", "400",
	  EGRESS_BAD_HTTP, NULL },
	{ "POST http://ok.example/" H11 OK_HOST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", "400",
	  EGRESS_BAD_HTTP, NULL },
	{ "POST http://ok.example/" H11 OK_HOST "Transfer-Encoding: chunked\t\r\n\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "POST http://ok.example/" H11 OK_HOST "Transfer-Encoding:\r\n chunked\r\n\r\n", "400", EGRESS_BAD_HTTP,
	  NULL },
	{ "POST http://ok.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", EGRESS_BAD_HTTP,
	  NULL },
	{ "POST http://ok.example/" H11 OK_HOST "Transfer-Encoding: chunked\r\n\r\n-1\r\n", "400", EGRESS_BAD_HTTP,
	  NULL },
	{ "GET http://ok.example/" H11 OK_HOST "A : b\r\n\r\n", "400", EGRESS_BAD_HTTP, NULL },
	{ "GET http://ok.example/\nHost: ok.example\n\n", "400", EGRESS_BAD_HTTP, NULL },
};

static void check_answer(int c, const struct refusal *r)
{
	char line[64], header[64];
	const char *got;
	bool reset;

	snprintf(line, sizeof(line), "HTTP/1.1 %s ", r->status);
	snprintf(header, sizeof(header), "\r\nX-Isod-Reason: %s\r\n", egress_reason_name(r->reason));
	rig_read_end(c, &got, &reset);
	if (reset || strncmp(got, line, strlen(line)) != 0 || !strstr(got, header) ||
	    !strstr(got, "\r\nConnection: close\r\n") || (r->body && !strstr(got, r->body)))
		fail_msg("%s\n-> %s", r->sent, got);
}

static void check_event(const char *sent, uint32_t reason, uint32_t via)
{
	struct session_connection e;

	if (!rig_wait_event(&e))
		fail_msg("%s\n-> no audit event", sent);
	if (e.reason != reason || e.allowed != (reason == EGRESS_ALLOWED) || (via && e.via != via) || e.pid != 42 ||
	    strcmp(e.program, "/usr/bin/curl") != 0)
		fail_msg("%s\n-> %s via %u pid %u", sent, egress_reason_name(e.reason), e.via, e.pid);
	assert_true(rig_no_event());
}

static bool nothing_went_out(void)
{
	return rig_is_quiet(ok80) && rig_is_quiet(ok443) && rig_is_quiet(a80);
}

static void test_at_proxy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at_proxy); i++) {
		const struct refusal *r = &at_proxy[i];
		int c = rig_proxy();

		rig_send_text(c, r->sent);
		if (r->reason == EGRESS_ALLOWED) {
			rig_expect(c, "HTTP/1.1 200");
			close(c);
			check_event(r->sent, EGRESS_TIMEOUT, VIA_CONNECT);
			continue;
		}
		check_answer(c, r);
		close(c);
		check_event(r->sent, r->reason, 0);
	}
	assert_true(nothing_went_out());
}

/* The same, a byte at a time. */
static void test_at_proxy_in_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at_proxy); i += 5) {
		const struct refusal *r = &at_proxy[i];
		int c;

		/* Its head is right, and goes out before the chunk comes. */
		if (strstr(r->sent, "\r\n\r\n-1"))
			continue;
		c = rig_proxy();
		for (size_t k = 0; r->sent[k]; k++)
			if (send(c, r->sent + k, 1, MSG_NOSIGNAL) != 1)
				break;
		check_answer(c, r);
		close(c);
		check_event(r->sent, r->reason, 0);
	}
	assert_true(nothing_went_out());
}

/* A head that is malformed behind its first line: the audit says where it was for. */
static void test_malformed_is_told_with_its_target(void **state)
{
	static const struct {
		const char *sent, *name;
		uint16_t port;
		uint32_t via;
	} cases[] = {
		{ "GET http://ok.example:81/" H11 "A : b\r\n\r\n", "ok.example", 81, VIA_HTTP },
		{ "GET http://OK.example/" H11 OK_HOST "Host: b\r\n\r\n", "ok.example", 80, VIA_HTTP },
		{ "CONNECT ok.example:443" H11 "Content-Length: 5\r\n\r\n", "ok.example", 443, VIA_CONNECT },
		{ "CONNECT [::1]:443" H11 "A\r\n\r\n", "::1", 443, VIA_CONNECT },
		{ "GET http://ok.example/\n\n", "", 0, VIA_HTTP },
		{ "GET /" H11 "A\r\n\r\n", "", 0, VIA_HTTP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int c = rig_proxy();
		struct session_connection e;

		rig_send_text(c, cases[i].sent);
		rig_expect(c, "HTTP/1.1 400 ");
		close(c);
		e = rig_event();
		assert_int_equal(e.reason, EGRESS_BAD_HTTP);
		assert_string_equal(e.name, cases[i].name);
		assert_int_equal(e.port, cases[i].port);
		assert_int_equal(e.via, cases[i].via);
	}
}

static void test_tls_to_proxy(void **state)
{
	static uint8_t hello[HELLO_MAX];
	size_t n = hello_simple("ok.example", hello);
	int c = rig_proxy();
	const char *got;
	bool reset;

	(void)state;
	rig_send(c, hello, n);
	assert_int_equal(rig_read_end(c, &got, &reset), 0);
	close(c);
	check_event("tls", EGRESS_TLS_TO_PROXY, 0);
}

static const struct {
	const char *name;
	uint16_t port;
	struct refusal r;
} captured[] = {
	{ "unlisted.example",
	  80,
	  { "GET /" H11 "Host: unlisted.example\r\n\r\n", "403", EGRESS_NOT_LISTED, "--allow" } },
	{ "unlisted.example", 80, { "garbage\n", "403", EGRESS_NOT_LISTED, NULL } },
	{ "ok.example", 80, { "GET /" H11 "Host: evil.example\r\n\r\n", "403", EGRESS_HOST_MISMATCH, NULL } },
	{ "ok.example", 80, { "GET /" H11 "Host: a.example\r\n\r\n", "403", EGRESS_HOST_MISMATCH, NULL } },
	{ "ok.example", 80, { "GET /" H11 "Host: ok.example:8080\r\n\r\n", "403", EGRESS_HOST_MISMATCH, NULL } },
	{ "ok.example", 80, { "GET /" H11 "\r\n", "400", EGRESS_BAD_HTTP, NULL } },
	{ "ok.example", 80, { "GET /" H11 OK_HOST OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL } },
	{ "ok.example", 80, { "GET http://evil.example/" H11 OK_HOST "\r\n", "403", EGRESS_HOST_MISMATCH, NULL } },
	{ "ok.example", 80, { "CONNECT evil.example:443" H11 OK_HOST "\r\n", "400", EGRESS_BAD_HTTP, NULL } },
	{ "ok.example", 80, { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", EGRESS_BAD_HTTP, NULL } },
	{ "ok.example", 80, { "\x80hello", "400", EGRESS_BAD_HTTP, NULL } },
	{ "inner.example", 80, { "GET /" H11 "Host: inner.example\r\n\r\n", "502", EGRESS_UNRESOLVED, NULL } },
	{ "closed.example", 80, { "GET /" H11 "Host: closed.example\r\n\r\n", "502", EGRESS_UNREACHABLE, NULL } },
};

static void test_captured_http(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(captured); i++) {
		int c = rig_captured(captured[i].name, captured[i].port);

		rig_send_text(c, captured[i].r.sent);
		check_answer(c, &captured[i].r);
		close(c);
		check_event(captured[i].r.sent, captured[i].r.reason, VIA_CAPTURE);
	}
	assert_true(nothing_went_out());
}

static void expect_reset(int c, uint32_t reason)
{
	const char *got;
	bool reset;

	assert_int_equal(rig_read_end(c, &got, &reset), 0);
	assert_true(reset);
	close(c);
	check_event(egress_reason_name(reason), reason, VIA_CAPTURE);
}

static void test_captured_other_ports(void **state)
{
	(void)state;
	expect_reset(rig_captured("unlisted.example", 22), EGRESS_NOT_LISTED);
	expect_reset(rig_captured("ok.example", 22), EGRESS_PORT);
	expect_reset(rig_captured_address("93.184.216.34", 22), EGRESS_ADDRESS_LITERAL);
	expect_reset(rig_captured_address("10.0.0.1", 5432), EGRESS_PRIVATE_ADDRESS);
	expect_reset(rig_captured_address("198.18.5.5", 22), EGRESS_UNKNOWN_ADDRESS);
	expect_reset(rig_captured("closed.example", 22), EGRESS_UNREACHABLE);
}

static void test_not_tls_on_443(void **state)
{
	const char *got;
	bool reset;
	int c = rig_captured("ok.example", 443);

	(void)state;
	rig_send_text(c, "GET / HTTP/1.1\r\n");
	expect_reset(c, EGRESS_NOT_TLS);
	/* A proxy inside a tunnel. */
	c = rig_proxy();
	rig_send_text(c, "CONNECT ok.example:443 HTTP/1.1\r\n\r\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n");
	rig_read_end(c, &got, &reset);
	assert_non_null(strstr(got, " 200 "));
	assert_null(strstr(got, " 403 "));
	close(c);
	check_event("tunnel", EGRESS_NOT_TLS, VIA_CONNECT);
	assert_true(nothing_went_out());
}

static void test_unresolved_connect(void **state)
{
	static const struct refusal r = { "CONNECT inner.example:443" H11 "\r\n", "502", EGRESS_UNRESOLVED, NULL };
	static const struct refusal closed = { "CONNECT closed.example:22" H11 "\r\n", "502", EGRESS_UNREACHABLE,
					       NULL };
	int c = rig_proxy();

	(void)state;
	rig_send_text(c, r.sent);
	check_answer(c, &r);
	close(c);
	check_event(r.sent, r.reason, VIA_CONNECT);
	c = rig_proxy();
	rig_send_text(c, closed.sent);
	check_answer(c, &closed);
	close(c);
	check_event(closed.sent, closed.reason, VIA_CONNECT);
}

struct saying {
	const char *sent;
	const char *parts[8]; /* in the answer, in this order */
	const char *absent;
};

static const struct saying sayings[] = {
	{ "CONNECT evil.example:22" H11 "\r\n",
	  { "HTTP/1.1 403 Forbidden (isod: not-listed)\r\nX-Isod-Reason: not-listed\r\n",
	    "X-Isod-Hint: To allow it: isoctl run --allow-domain evil.example:22\r\nX-Isod-Retry: no\r\n",
	    "Content-Type: text/plain; charset=utf-8\r\n", "\r\n\r\nisod: evil.example:22: refused (not-listed)\n",
	    "No rule of the policy names this host.\n",
	    "Do not retry: ", "Asked for by /usr/bin/curl (pid 42) in session " RIG_SESSION "\n" },
	  "X-Isod-Rule" },
	{ "CONNECT deny.example:443" H11 "\r\n",
	  { "X-Isod-Reason: denied\r\nX-Isod-Rule: deny deny.example\r\n", "X-Isod-Retry: no\r\n",
	    "A deny rule of the policy names this host.\nIts owner says: Say \"please\".\nRule: deny deny.example\n" },
	  "--allow-domain" },
	{ "CONNECT ok.example:22" H11 "\r\n",
	  { "X-Isod-Rule: allow ok.example\r\n", "--allow-domain ok.example:22\n" },
	  NULL },
	{ "CONNECT closed.example:22" H11 "\r\n",
	  { "502 Bad Gateway (isod: unreachable)\r\n", "X-Isod-Retry: later\r\n", "Trying again later can help.\n" },
	  "Do not retry" },
	{ "GET http://deny.example/" H11 "Host: deny.example\r\nAccept: application/json\r\n\r\n",
	  { "X-Isod-Rule: deny deny.example\r\n", "Content-Type: application/json; charset=utf-8\r\n",
	    "\r\n\r\n{\"error\":\"refused\",\"reason\":\"denied\",\"retry\":false,\"message\":\"A deny rule",
	    "\"host\":\"deny.example\",\"port\":80,\"rule\":\"deny deny.example\",\"why\":\"Say \\\"please\\\".\"",
	    "\"program\":\"/usr/bin/curl\",\"pid\":42,\"session\":\"" RIG_SESSION "\"}\n" },
	  "Its owner says" },
	{ "GET http://evil.example/" H11
	  "Host: evil.example\r\nAccept: text/html, application/json;q=0.9, */*;q=0.8\r\n\r\n",
	  { "Content-Type: text/plain; charset=utf-8\r\n" },
	  NULL },
	{ "GET http://evil.example/" H11 "Host: evil.example\r\nAccept: application/json, text/plain, */*\r\n\r\n",
	  { "Content-Type: application/json; charset=utf-8\r\n" },
	  NULL },
	{ "GET http://evil.example/" H11 "Host: evil.example\r\nAccept: application/json;q=0\r\n\r\n",
	  { "Content-Type: text/plain; charset=utf-8\r\n" },
	  NULL },
	{ "GET http://evil.example/" H11 "Host: evil.example\r\nAccept: */*\r\nAccept: application/json; q=0.5\r\n\r\n",
	  { "Content-Type: text/plain; charset=utf-8\r\n" },
	  NULL },
	{ "GET http://evil.example/" H11
	  "Host: evil.example\r\nAccept: text/plain;q=0.2,application/vnd.npm.install-v1+json; q=1.0\r\n\r\n",
	  { "Content-Type: application/json; charset=utf-8\r\n" },
	  NULL },
	{ "GET http://evil.example/" H11 "Host: evil.example\r\nAccept: ,;,application/json;q=;v=1,\r\n\r\n",
	  { "Content-Type: application/json; charset=utf-8\r\n" },
	  NULL },
};

static void test_what_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sayings); i++) {
		const struct saying *s = &sayings[i];
		const char *got, *at, *body;
		size_t length = 0;
		int c = rig_proxy();
		bool reset;

		rig_send_text(c, s->sent);
		rig_read_end(c, &got, &reset);
		at = got;
		for (size_t k = 0; s->parts[k]; k++) {
			at = at ? strstr(at, s->parts[k]) : NULL;
			if (!at)
				fail_msg("%s\n-> %s\nlacks %s", s->sent, got, s->parts[k]);
		}
		if (s->absent && strstr(got, s->absent))
			fail_msg("%s\n-> %s", s->sent, got);
		body = strstr(got, "\r\n\r\n");
		at = strstr(got, "Content-Length: ");
		assert_true(body && at && sscanf(at, "Content-Length: %zu\r\n", &length) == 1);
		assert_int_equal(length, strlen(body + 4));
		close(c);
		(void)rig_event();
	}
}

static void test_owner_comes_late_or_never(void **state)
{
	struct session_connection e;
	int c;

	(void)state;
	rig_owner_mode(RIG_OWNER_SILENT);
	c = rig_proxy();
	rig_send_text(c, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
	rig_expect(c, "not-listed");
	close(c);
	e = rig_event();
	assert_string_equal(e.program, "");
	assert_int_equal(e.reason, EGRESS_NOT_LISTED);
	rig_owner_mode(RIG_OWNER_FULL);
	c = rig_proxy();
	rig_send_text(c, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
	rig_expect(c, "not-listed");
	close(c);
	e = rig_event();
	assert_int_equal(e.pid, 0);
	assert_string_equal(e.name, "evil.example");
	assert_int_equal(e.port, 443);
	rig_owner_mode(RIG_OWNER_ANSWERS);
}

static void test_silent_client_costs_no_event(void **state)
{
	(void)state;
	close(rig_proxy());
	close(rig_proxy());
	test_tls_to_proxy(state);
}

static int setup(void **state)
{
	(void)state;
	rig_start();
	ok80 = rig_listen("127.0.0.2", 80);
	ok443 = rig_listen("127.0.0.2", 443);
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
		cmocka_unit_test_setup(test_at_proxy, rig_forget),
		cmocka_unit_test_setup(test_at_proxy_in_pieces, rig_forget),
		cmocka_unit_test_setup(test_malformed_is_told_with_its_target, rig_forget),
		cmocka_unit_test_setup(test_tls_to_proxy, rig_forget),
		cmocka_unit_test_setup(test_captured_http, rig_forget),
		cmocka_unit_test_setup(test_captured_other_ports, rig_forget),
		cmocka_unit_test_setup(test_not_tls_on_443, rig_forget),
		cmocka_unit_test_setup(test_unresolved_connect, rig_forget),
		cmocka_unit_test_setup(test_what_is_said, rig_forget),
		cmocka_unit_test_setup(test_owner_comes_late_or_never, rig_forget),
		cmocka_unit_test_setup(test_silent_client_costs_no_event, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
