/* Rules for one connection, and hosts that are let through to be learned, by every way in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gateway_rig.h"

static int once22, once80, ok80;

static void check_onces(const struct rig_once *expected, size_t n)
{
	struct rig_once got[RIG_ONCES];

	assert_int_equal(rig_onces(got), n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got[i].kind, expected[i].kind);
		assert_int_equal(got[i].number, expected[i].number);
	}
}

/* Its other port is still to be had. */
static void refused(int c)
{
	const char *got;
	bool reset;

	rig_read_end(c, &got, &reset);
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_PORT);
}

/* The tunnel that has it stays; the next one, by whatever way, does not get it. */
static void test_a_tunnel_has_it(void **state)
{
	static const struct rig_once told[] = { { ONCE_USED, RIG_ONCE }, { ONCE_OVER, RIG_ONCE } };
	int c = rig_proxy(), u, other;

	rig_send_text(c, "CONNECT once.example:22 HTTP/1.1\r\n\r\n");
	u = rig_accept(once22);
	rig_expect(c, " 200 ");
	other = rig_proxy();
	rig_send_text(other, "CONNECT once.example:22 HTTP/1.1\r\n\r\n");
	rig_expect(other, " 403 ");
	refused(other);
	refused(rig_captured("once.example", 22));
	assert_true(rig_is_quiet(once22));
	check_onces(told, 1);
	rig_send_text(u, "hello");
	rig_expect(c, "hello");
	close(c);
	close(u);
	assert_int_equal(rig_event().reason, EGRESS_ALLOWED);
	check_onces(told, 2);
	refused(rig_captured("once.example", 22));
}

/* Requests of one connection to the proxy, one after the other; a request to another host gives it up. */
static void test_requests_have_it(void **state)
{
	static const char get[] = "GET http://once.example/ HTTP/1.1\r\nHost: once.example\r\n\r\n";
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
	static const struct rig_once told[] = { { ONCE_USED, RIG_ONCE + 1 }, { ONCE_OVER, RIG_ONCE + 1 } };
	int c = rig_proxy(), u, other;

	rig_send_text(c, get);
	u = rig_accept(once80);
	for (int i = 0; i < 3; i++) {
		if (i > 0)
			rig_send_text(c, get);
		rig_expect(u, "\r\n\r\n");
		rig_send_text(u, answer);
		rig_expect(c, "hi");
	}
	check_onces(told, 1);
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	other = rig_accept(ok80);
	rig_send_text(other, answer);
	rig_expect(c, "hi");
	check_onces(told, 2);
	rig_send_text(c, get);
	rig_expect(c, " 403 ");
	close(u);
	close(other);
	assert_int_equal(rig_event().count, 3);
	assert_int_equal(rig_event().reason, EGRESS_ALLOWED);
	refused(c);
}

/* What it says in the end, and that an address is dialled for no private one. */
static void test_learned(void **state)
{
	struct session_connection e;
	int c;

	rig_unlisted(EGRESS_UNLISTED_LEARN);
	c = rig_captured("ok.example", 8080);
	close(c);
	e = rig_event();
	/* Nobody listens at its pinned, private address, which is not for what is only learned. */
	assert_int_equal(e.reason, EGRESS_PRIVATE_ADDRESS);
	assert_int_equal(e.allowed, 0);
	c = rig_proxy();
	rig_send_text(c, "CONNECT deny.example:443 HTTP/1.1\r\n\r\n");
	rig_expect(c, "isod: denied");
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_DENIED);
	c = rig_proxy();
	rig_send_text(c, "GET http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n");
	rig_expect(c, " 403 ");
	close(c);
	assert_int_equal(rig_event().allowed, 0);
	rig_unlisted(EGRESS_UNLISTED_DENY);
}

/* What an upstream proxy would connect to cannot be seen here. */
static void test_nothing_is_learned_by_proxy(void **state)
{
	static const struct egress_proxy way = { .family = AF_INET, .address = { 127, 0, 0, 99 }, .port = 3128 };
	int c;

	rig_stop();
	rig_upstream = &way;
	rig_start();
	rig_upstream = NULL;
	rig_unlisted(EGRESS_UNLISTED_LEARN);
	c = rig_proxy();
	rig_send_text(c, "CONNECT new.example:443 HTTP/1.1\r\n\r\n");
	rig_expect(c, "isod: not-listed");
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_NOT_LISTED);
	rig_unlisted(EGRESS_UNLISTED_DENY);
}

static int setup(void **state)
{
	rig_start();
	once22 = rig_listen("127.0.0.7", 22);
	once80 = rig_listen("127.0.0.7", 80);
	ok80 = rig_listen("127.0.0.2", 80);
	return 0;
}

static int teardown(void **state)
{
	rig_stop();
	close(once22);
	close(once80);
	close(ok80);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_tunnel_has_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requests_have_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_learned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_learned_by_proxy, setup, teardown),
	};

	if (!rig_namespace())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
