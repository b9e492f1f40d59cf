/* The ClientHello decides before anything goes upstream; what is right passes unchanged. */
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
#include "gateway_rig_limits.h"
#include "hello_make.h"

static int ok443, raw8443, literal443;
static uint8_t message[HELLO_MAX], hello[HELLO_MAX * 7], seen[HELLO_MAX * 7];

static int tunnel(const char *authority)
{
	char request[128];
	int c = rig_proxy();

	snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
	rig_send_text(c, request);
	rig_expect(c, "HTTP/1.1 200 Connection established\r\n\r\n");
	return c;
}

static void check_event(uint32_t reason, const char *name)
{
	struct session_connection e = rig_event();

	assert_string_equal(egress_reason_name(e.reason), egress_reason_name(reason));
	assert_string_equal(e.name, name);
	assert_true(rig_no_event());
}

/* The hello arrives as it was, and both directions work. Takes over c. */
static void expect_served(int c, int listener, size_t len, const char *name)
{
	struct session_connection e;
	int u;

	rig_send(c, hello, len);
	u = rig_accept(listener);
	rig_read(u, seen, len);
	assert_memory_equal(seen, hello, len);
	rig_send_text(u, "server hello");
	rig_expect(c, "server hello");
	rig_send_text(c, "more");
	rig_expect(u, "more");
	close(c);
	close(u);
	e = rig_event();
	assert_int_equal(e.allowed, 1);
	assert_string_equal(e.name, name);
	assert_int_equal(e.bytes_up, len + 4);
	assert_int_equal(e.bytes_down, 12);
	assert_true(e.family == AF_INET && e.address[0] == 127);
}

static void expect_alert(int c, size_t len, uint32_t reason)
{
	const char *got;
	bool reset;

	rig_send(c, hello, len);
	assert_int_equal(rig_read_end(c, &got, &reset), 7);
	assert_memory_equal(got, "\x15\x03\x03\x00\x02\x02\x31", 7);
	assert_false(reset);
	close(c);
	assert_true(rig_is_quiet(ok443) && rig_is_quiet(literal443));
	check_event(reason, "ok.example");
}

static void test_right_names(void **state)
{
	static const char *const names[] = { "ok.example", "OK.example", "ok.example.", "Ok.Example." };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect_served(tunnel("ok.example:443"), ok443, hello_simple(names[i], hello), "ok.example");
		expect_served(rig_captured("ok.example", 443), ok443, hello_simple(names[i], hello), "ok.example");
		expect_served(tunnel("OK.Example.:443"), ok443, hello_simple(names[i], hello), "ok.example");
	}
}

static void test_shapes(void **state)
{
	static const struct hello_make shapes[] = {
		{ .name = "ok.example", .padding = 16 << 10 },
		{ .name = "ok.example", .padding = 60 << 10 },
		{ .name = "ok.example", .ech = 1 },
		{ .name = "ok.example", .name_last = 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t n = hello_message(&shapes[i], message);

		expect_served(tunnel("ok.example:443"), ok443, hello_records(message, n, 16384, hello), "ok.example");
		expect_served(rig_captured("ok.example", 443), ok443,
			      hello_records(message, n, n <= 16384 ? n - 1 : 16383, hello), "ok.example");
		expect_served(rig_captured("ok.example", 443), ok443, hello_records(message, n, n / 60 + 1, hello),
			      "ok.example");
	}
}

static void test_segments_of_one_byte(void **state)
{
	size_t len = hello_simple("ok.example", hello);
	int c = tunnel("ok.example:443"), u;

	(void)state;
	for (size_t i = 0; i < len; i++)
		rig_send(c, hello + i, 1);
	u = rig_accept(ok443);
	rig_read(u, seen, len);
	assert_memory_equal(seen, hello, len);
	close(u);
	close(c);
	check_event(EGRESS_ALLOWED, "ok.example");
}

static void test_hello_in_the_segment_of_the_request(void **state)
{
	static const char request[] = "CONNECT ok.example:443 HTTP/1.1\r\n\r\n";
	size_t len = hello_simple("ok.example", hello + sizeof(request) - 1);
	int c = rig_proxy(), u;

	(void)state;
	memcpy(hello, request, sizeof(request) - 1);
	rig_send(c, hello, sizeof(request) - 1 + len);
	u = rig_accept(ok443);
	rig_read(u, seen, len);
	assert_memory_equal(seen, hello + sizeof(request) - 1, len);
	rig_expect(c, " 200 ");
	close(u);
	close(c);
	check_event(EGRESS_ALLOWED, "ok.example");
}

static void test_wrong_names(void **state)
{
	static const struct {
		struct hello_make make;
		uint32_t reason;
	} cases[] = {
		{ { .name = "evil.example" }, EGRESS_SNI_MISMATCH },
		{ { .name = "a.example" }, EGRESS_SNI_MISMATCH },
		{ { .name = "x.ok.example" }, EGRESS_SNI_MISMATCH },
		{ { .name = "ok.example\0.evil", .name_len = 16 }, EGRESS_SNI_MISMATCH },
		{ { .name = "ok.example.." }, EGRESS_SNI_MISMATCH },
		{ { .name = "127.0.0.2" }, EGRESS_SNI_MISMATCH },
		{ { .name = "evil.example", .ech = 1 }, EGRESS_SNI_MISMATCH },
		{ { .name = NULL }, EGRESS_SNI_MISSING },
		{ { .no_extensions = 1 }, EGRESS_SNI_MISSING },
		{ { .name = "ok.example", .second_name = "evil.example" }, EGRESS_BAD_TLS },
		{ { .name = "ok.example", .list_entries = 2 }, EGRESS_BAD_TLS },
		{ { .name = "ok.example", .name_type = 1 }, EGRESS_BAD_TLS },
		{ { .name = "ok.example", .name_error = 1 }, EGRESS_BAD_TLS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = hello_message(&cases[i].make, message);

		expect_alert(tunnel("ok.example:443"), hello_records(message, n, 16384, hello), cases[i].reason);
		expect_alert(rig_captured("ok.example", 443), hello_records(message, n, n / 3, hello), cases[i].reason);
	}
}

static void test_too_many_records(void **state)
{
	struct hello_make m = { .name = "ok.example" };
	size_t n = hello_message(&m, message);

	(void)state;
	expect_alert(tunnel("ok.example:443"), hello_records(message, n, 1, hello), EGRESS_BAD_TLS);
}

static void test_denied_host_gets_an_alert(void **state)
{
	size_t len = hello_simple("unlisted.example", hello);
	int c = rig_captured("unlisted.example", 443);
	const char *got;
	bool reset;

	(void)state;
	rig_send(c, hello, len);
	assert_int_equal(rig_read_end(c, &got, &reset), 7);
	assert_memory_equal(got, "\x15\x03\x03\x00\x02\x02\x31", 7);
	close(c);
	check_event(EGRESS_NOT_LISTED, "unlisted.example");
}

/* Dialled at once there, but what the client says is looked at all the same. */
static void test_other_port(void **state)
{
	size_t len = hello_simple("raw.example", hello);
	const char *got;
	bool reset;
	int c, u;

	(void)state;
	c = tunnel("raw.example:8443");
	rig_send(c, hello, len);
	u = rig_accept(raw8443);
	rig_read(u, seen, len);
	assert_memory_equal(seen, hello, len);
	close(u);
	close(c);
	check_event(EGRESS_ALLOWED, "raw.example");

	len = hello_simple("evil.example", hello);
	c = rig_captured("raw.example", 8443);
	u = rig_accept(raw8443);
	for (size_t i = 0; i < len; i++)
		rig_send(c, hello + i, 1);
	assert_int_equal(rig_read_end(c, &got, &reset), 7);
	assert_int_equal(rig_read_end(u, &got, &reset), 0);
	close(u);
	close(c);
	check_event(EGRESS_SNI_MISMATCH, "raw.example");
}

static void test_address_literal_has_no_name(void **state)
{
	(void)state;
	expect_served(tunnel("127.0.0.9:443"), literal443, hello_simple("any.example", hello), "127.0.0.9");
	expect_served(rig_captured_address("127.0.0.9", 443), literal443, hello_simple(NULL, hello), "127.0.0.9");
}

static struct egress_rule no_sni[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "ok.example", .port = 443, .deny = 1 },
	{ .kind = EGRESS_RULE_HOST, .name = "unlisted.example", .deny = 1 },
};

static unsigned reload(bool ech_denied, bool unnamed)
{
	const struct rig_change change = {
		.tls = { .ech_denied = ech_denied, .no_sni = no_sni, .n_no_sni = unnamed ? ARRAY_SIZE(no_sni) : 0 }
	};

	return rig_change(&change);
}

static size_t make(const char *name, int ech)
{
	const struct hello_make m = { .name = name, .ech = ech };

	return hello_records(message, hello_message(&m, message), 16384, hello);
}

/* Whatever name there is beside it; what has none passes. */
static void test_denied_ech(void **state)
{
	static const char *const names[] = { "ok.example", "evil.example", NULL };

	(void)state;
	reload(true, true);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect_alert(tunnel("ok.example:443"), make(names[i], 1), EGRESS_ECH);
		expect_alert(rig_captured("ok.example", 443), make(names[i], 1), EGRESS_ECH);
	}
	expect_served(tunnel("ok.example:443"), ok443, make("ok.example", 0), "ok.example");
	reload(false, false);
	expect_served(rig_captured("ok.example", 443), ok443, make("ok.example", 1), "ok.example");
}

/* A host that need not be named may be named, rightly. */
static void test_unnamed(void **state)
{
	int c;
	const char *got;
	bool reset;

	(void)state;
	reload(false, true);
	expect_served(tunnel("ok.example:443"), ok443, make(NULL, 0), "ok.example");
	expect_served(rig_captured("ok.example", 443), ok443, make(NULL, 0), "ok.example");
	expect_served(tunnel("ok.example:443"), ok443, make("ok.example", 1), "ok.example");
	expect_alert(tunnel("ok.example:443"), make("evil.example", 0), EGRESS_SNI_MISMATCH);
	expect_alert(tunnel("ok.example:443"), make(NULL, 1), EGRESS_ECH);
	/* It allows nothing. */
	c = rig_captured("unlisted.example", 443);
	rig_send(c, hello, make(NULL, 0));
	assert_int_equal(rig_read_end(c, &got, &reset), 7);
	close(c);
	check_event(EGRESS_NOT_LISTED, "unlisted.example");
	reload(false, false);
	expect_alert(tunnel("ok.example:443"), make(NULL, 0), EGRESS_SNI_MISSING);
}

/* The client's end and the server's of a tunnel that was let through. */
static int open_tunnel(size_t len, int *ret_u)
{
	int c = tunnel("ok.example:443");

	rig_send(c, hello, len);
	*ret_u = rig_accept(ok443);
	rig_read(*ret_u, seen, len);
	return c;
}

static void expect_cut(int c, int u, uint32_t reason)
{
	const char *got;
	bool reset;

	assert_int_equal(rig_read_end(c, &got, &reset), 0);
	assert_int_equal(rig_read_end(u, &got, &reset), 0);
	close(c);
	close(u);
	check_event(reason, "ok.example");
}

/* What was let through goes by the rules of now. */
static void test_reload_cuts(void **state)
{
	int plain, plain_u, ech, ech_u, unnamed, unnamed_u;

	(void)state;
	reload(false, true);
	plain = open_tunnel(make("ok.example", 0), &plain_u);
	ech = open_tunnel(make("ok.example", 1), &ech_u);
	unnamed = open_tunnel(make(NULL, 0), &unnamed_u);
	assert_int_equal(reload(true, true), 1);
	expect_cut(ech, ech_u, EGRESS_ECH);
	assert_int_equal(reload(true, false), 1);
	expect_cut(unnamed, unnamed_u, EGRESS_SNI_MISSING);
	rig_send_text(plain, "more");
	rig_expect(plain_u, "more");
	close(plain);
	close(plain_u);
	check_event(EGRESS_ALLOWED, "ok.example");
	reload(false, false);
}

static int setup(void **state)
{
	(void)state;
	rig_start();
	ok443 = rig_listen("127.0.0.2", 443);
	raw8443 = rig_listen("127.0.0.5", 8443);
	literal443 = rig_listen("127.0.0.9", 443);
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
		cmocka_unit_test_setup(test_right_names, rig_forget),
		cmocka_unit_test_setup(test_shapes, rig_forget),
		cmocka_unit_test_setup(test_segments_of_one_byte, rig_forget),
		cmocka_unit_test_setup(test_hello_in_the_segment_of_the_request, rig_forget),
		cmocka_unit_test_setup(test_wrong_names, rig_forget),
		cmocka_unit_test_setup(test_too_many_records, rig_forget),
		cmocka_unit_test_setup(test_denied_host_gets_an_alert, rig_forget),
		cmocka_unit_test_setup(test_other_port, rig_forget),
		cmocka_unit_test_setup(test_address_literal_has_no_name, rig_forget),
		cmocka_unit_test_setup(test_denied_ech, rig_forget),
		cmocka_unit_test_setup(test_unnamed, rig_forget),
		cmocka_unit_test_setup(test_reload_cuts, rig_forget),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
