/* SOCKS at the proxy port: the same decisions as for CONNECT, told by SOCKS replies; then a tunnel like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gateway_rig.h"
#include "hello_make.h"

#define GREETING "\5\1\0"
#define CONNECT "\5\1\0"
#define GRANTED "\5\0\0\1\0\0\0\0\0\0"
#define PORT_22 "\0\26"
#define PORT_80 "\0\120"
#define PORT_443 "\1\273"
#define OK "\3\12ok.example"

static int ok80, ok443, raw22;
static uint8_t hello[HELLO_MAX * 7], seen[HELLO_MAX * 7];

/* A literal may hold NUL. */
#define SEND(fd, text) rig_send(fd, text, sizeof(text) - 1)
#define EXPECT(fd, text) expect(fd, text, sizeof(text) - 1)

static void expect(int fd, const char *text, size_t len)
{
	char got[32];

	rig_read(fd, got, len);
	assert_memory_equal(got, text, len);
}

static void check_event(uint32_t reason, const char *name, uint16_t port)
{
	struct session_connection e = rig_event();

	assert_string_equal(egress_reason_name(e.reason), egress_reason_name(reason));
	assert_int_equal(e.allowed, reason == EGRESS_ALLOWED);
	assert_int_equal(e.via, VIA_SOCKS);
	assert_string_equal(e.name, name);
	assert_int_equal(e.port, port);
	assert_string_equal(e.program, "/usr/bin/curl");
	if (reason != EGRESS_ALLOWED && reason != EGRESS_HOST_MISMATCH)
		assert_int_equal(e.bytes_up + e.bytes_down, 0);
	assert_true(rig_no_event());
}

static int granted(const char *request, size_t len)
{
	int c = rig_proxy();

	SEND(c, GREETING);
	EXPECT(c, "\5\0");
	rig_send(c, request, len);
	EXPECT(c, GRANTED);
	return c;
}
#define GRANT(text) granted(text, sizeof(text) - 1)

struct refused {
	const char *sent;
	size_t len;
	const char *answer;
	size_t answer_len;
	uint32_t reason;
	const char *name;
	uint16_t port;
};
#define REQUEST(text, code, reason, name, port)                                                                        \
	{                                                                                                              \
		GREETING text, sizeof(GREETING text) - 1, "\5\0\5" code "\0\1\0\0\0\0\0\0", 12, reason, name, port     \
	}
#define FIRST(text, answer)                                                                                            \
	{                                                                                                              \
		text, sizeof(text) - 1, answer, sizeof(answer) - 1, EGRESS_BAD_SOCKS, "", 0                            \
	}

static const struct refused refusals[] = {
	REQUEST(CONNECT "\3\14evil.example" PORT_443, "\2", EGRESS_NOT_LISTED, "evil.example", 443),
	REQUEST(CONNECT "\3\15Deny.EXAMPLE." PORT_443, "\2", EGRESS_DENIED, "deny.example", 443),
	REQUEST(CONNECT OK PORT_22, "\2", EGRESS_PORT, "ok.example", 22),
	REQUEST(CONNECT "\1\12\0\0\1" PORT_80, "\2", EGRESS_PRIVATE_ADDRESS, "10.0.0.1", 80),
	REQUEST(CONNECT "\3\10"
			"10.0.0.1" PORT_80,
		"\2", EGRESS_PRIVATE_ADDRESS, "10.0.0.1", 80),
	REQUEST(CONNECT "\1\135\270\330\42" PORT_80, "\2", EGRESS_ADDRESS_LITERAL, "93.184.216.34", 80),
	REQUEST(CONNECT "\4\0\0\0\0\0\0\0\0\0\0\377\377\12\0\0\1" PORT_80, "\2", EGRESS_PRIVATE_ADDRESS,
		"::ffff:10.0.0.1", 80),
	REQUEST(CONNECT "\3\11localhost" PORT_80, "\2", EGRESS_PRIVATE_ADDRESS, "localhost", 80),
	REQUEST(CONNECT "\3\13ok\0.example." PORT_80, "\2", EGRESS_BAD_NAME, "", 0),
	REQUEST(CONNECT "\3\13ok.example\n" PORT_80, "\2", EGRESS_BAD_NAME, "", 0),
	REQUEST(CONNECT "\3\5"
			"127.1" PORT_80,
		"\2", EGRESS_BAD_NAME, "", 0),
	REQUEST(CONNECT "\3\5[::1]" PORT_80, "\2", EGRESS_BAD_NAME, "", 0),
	REQUEST(CONNECT OK "\0\0", "\1", EGRESS_BAD_SOCKS, "ok.example", 0),
	REQUEST(CONNECT "\3\15inner.example" PORT_443, "\4", EGRESS_UNRESOLVED, "inner.example", 443),
	REQUEST(CONNECT "\3\16closed.example" PORT_22, "\5", EGRESS_UNREACHABLE, "closed.example", 22),
	REQUEST("\5\2\0" OK PORT_80, "\7", EGRESS_PROTOCOL, "", 0),
	REQUEST("\5\3\0\1\0\0\0\0\0\0", "\7", EGRESS_PROTOCOL, "", 0),
	REQUEST(CONNECT "\2ok.example" PORT_80, "\10", EGRESS_BAD_SOCKS, "", 0),
	REQUEST("\5\0\0" OK PORT_80, "\1", EGRESS_BAD_SOCKS, "", 0),
	REQUEST("GET / HTTP/1.1\r\n", "\1", EGRESS_BAD_SOCKS, "", 0),
	FIRST("\5\1\2", "\5\377"),
	FIRST("\5\0", "\5\377"),
	FIRST("\4\1\0\120\0\0\0\1\0ok.example\0", "\0\133\0\0\0\0\0\0"),
};

static void refused(const struct refused *r, bool in_pieces)
{
	const char *got;
	bool reset;
	int c = rig_proxy();

	for (size_t i = 0; in_pieces && i < r->len; i++)
		rig_send(c, r->sent + i, 1);
	if (!in_pieces)
		rig_send(c, r->sent, r->len);
	assert_int_equal(rig_read_end(c, &got, &reset), r->answer_len);
	assert_memory_equal(got, r->answer, r->answer_len);
	assert_false(reset);
	close(c);
	check_event(r->reason, r->name, r->port);
}

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		refused(&refusals[i], false);
	/* Those that end the connection early would make the rest of the pieces fail. */
	for (size_t i = 0; i < 15; i++)
		refused(&refusals[i], true);
	assert_true(rig_is_quiet(ok80) && rig_is_quiet(ok443));
}

static void test_tunnel(void **state)
{
	int c = GRANT(CONNECT "\3\13raw.example" PORT_22), u = rig_accept(raw22);

	(void)state;
	rig_send_text(u, "SSH-2.0-server\r\n");
	rig_expect(c, "SSH-2.0-server\r\n");
	rig_send_text(c, "SSH-2.0-client x\r\n");
	rig_expect(u, "SSH-2.0-client x\r\n");
	close(c);
	close(u);
	check_event(EGRESS_ALLOWED, "raw.example", 22);
}

static void test_tls_names_the_host(void **state)
{
	static const struct {
		const char *name;
		uint32_t reason;
	} cases[] = { { "a.example", EGRESS_SNI_MISMATCH }, { NULL, EGRESS_SNI_MISSING } };
	size_t len = hello_simple("OK.example", hello);
	int c = GRANT(CONNECT OK PORT_443), u;
	const char *got;
	bool reset;

	(void)state;
	assert_true(rig_is_quiet(ok443));
	rig_send(c, hello, len);
	u = rig_accept(ok443);
	rig_read(u, seen, len);
	assert_memory_equal(seen, hello, len);
	close(c);
	close(u);
	check_event(EGRESS_ALLOWED, "ok.example", 443);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		c = GRANT(CONNECT OK PORT_443);
		rig_send(c, hello, hello_simple(cases[i].name, hello));
		assert_int_equal(rig_read_end(c, &got, &reset), 7);
		assert_int_equal(got[0], 0x15);
		close(c);
		check_event(cases[i].reason, "ok.example", 443);
	}
	c = GRANT(CONNECT OK PORT_443);
	rig_send_text(c, "GET / HTTP/1.1\r\n");
	assert_int_equal(rig_read_end(c, &got, &reset), 0);
	close(c);
	check_event(EGRESS_NOT_TLS, "ok.example", 443);
	assert_true(rig_is_quiet(ok443));
}

static void test_http_names_the_host(void **state)
{
	int c = GRANT(CONNECT OK PORT_80), u;

	(void)state;
	rig_send_text(c, "GET /x HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "GET /x HTTP/1.1\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect(c, "hi");
	rig_send_text(c, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
	rig_expect(c, "host-mismatch");
	close(c);
	close(u);
	assert_int_equal(rig_event().allowed, 1);
	check_event(EGRESS_HOST_MISMATCH, "ok.example", 80);
}

/* SOCKS is what a connection begins with: after a request of HTTP it is nothing. */
static void test_only_at_the_beginning(void **state)
{
	int c = rig_proxy(), u;

	(void)state;
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect(c, "hi");
	SEND(c, GREETING CONNECT OK PORT_443);
	rig_expect(c, "bad-http");
	close(c);
	close(u);
	assert_int_equal(rig_event().allowed, 1);
	assert_int_equal(rig_event().reason, EGRESS_BAD_HTTP);
	/* A client that says nothing, or only greets, has asked for nothing. */
	c = rig_proxy();
	SEND(c, GREETING);
	EXPECT(c, "\5\0");
	close(c);
	assert_true(rig_no_event());
}

static int setup(void **state)
{
	(void)state;
	rig_start();
	ok80 = rig_listen("127.0.0.2", 80);
	ok443 = rig_listen("127.0.0.2", 443);
	raw22 = rig_listen("127.0.0.5", 22);
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
		cmocka_unit_test_setup(test_refusals, rig_forget),
		cmocka_unit_test_setup(test_tunnel, rig_forget),
		cmocka_unit_test_setup(test_tls_names_the_host, rig_forget),
		cmocka_unit_test_setup(test_http_names_the_host, rig_forget),
		cmocka_unit_test_setup(test_only_at_the_beginning, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
