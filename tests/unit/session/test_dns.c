/* The resolver of a running isod-session, over UDP and TCP and both families. */
#include "tests/unit/session/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/session/dns/dns_message.h"

static struct egress_rule rule_list[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "api.example.org" },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "example.net" },
	{ .kind = EGRESS_RULE_HOST, .deny = true, .name = "paste.example", .why = "Use the company's snippets." },
};
static struct egress_rules rules = { .rules = rule_list, .n_rules = 3 };
static struct driver driver;

static size_t make_query(const char *name, uint16_t type, uint8_t ret[512])
{
	static const uint8_t header[12] = { 0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 1 };
	static const uint8_t opt[11] = { 0, 0, 41, 0x04, 0xd0 };
	size_t n = sizeof(header);

	memcpy(ret, header, n);
	while (*name) {
		size_t len = strcspn(name, ".");

		ret[n++] = (uint8_t)len;
		memcpy(ret + n, name, len);
		n += len;
		name += len + (name[len] == '.');
	}
	ret[n++] = 0;
	ret[n++] = (uint8_t)(type >> 8);
	ret[n++] = (uint8_t)type;
	ret[n++] = 0;
	ret[n++] = 1;
	memcpy(ret + n, opt, sizeof(opt));
	return n + sizeof(opt);
}

static int connect_to(int listener, int type)
{
	struct sockaddr *a = (struct sockaddr *)&driver.address[listener];
	struct timeval timeout = { .tv_sec = 60 };
	int fd = socket(a->sa_family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	assert_int_equal(
		connect(fd, a, a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)), 0);
	return fd;
}

static size_t ask(int fd, const char *name, uint16_t type, uint8_t reply[512])
{
	uint8_t query[512];
	size_t len = make_query(name, type, query);
	ssize_t n;

	assert_int_equal(send(fd, query, len, 0), len);
	n = recv(fd, reply, 512, 0);
	assert_true(n >= 12);
	assert_memory_equal(reply, query, 2);
	return (size_t)n;
}

static int setup(void **state)
{
	(void)state;
	driver_start(&driver, &rules, 0);
	driver_listen(&driver);
	return 0;
}

static int teardown(void **state)
{
	union driver_event e;

	(void)state;
	driver.link = fd_close(driver.link);
	while (driver_event(&driver, &e) != 0)
		;
	return driver_wait(&driver);
}

static void test_udp(void **state)
{
	static const int listeners[] = { LISTENER_DNS_UDP_V4, LISTENER_DNS_UDP_V6 };
	uint8_t reply[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(listeners); i++) {
		int fd = connect_to(listeners[i], SOCK_DGRAM);
		/* header, question, then the record's fixed part; the address follows. OPT is the last 11 bytes. */
		size_t n = ask(fd, "API.example.ORG", DNS_A, reply);

		assert_int_equal(reply[3] & 0xf, DNS_NOERROR);
		assert_int_equal(reply[7], 1);
		assert_memory_equal(reply + n - 11 - 4, "\306\022\0\002", 4); /* 198.18.0.2 */
		assert_memory_equal(reply + 12, "\003API\007example\003ORG", 16);
		n = ask(fd, "api.example.org", DNS_AAAA, reply);
		assert_int_equal(reply[7], 1);
		assert_memory_equal(reply + n - 11 - 16, "\xfd\x69\x73\x6f\x64\0\0\0\0\0\0\0\0\0\0\2", 16);
		ask(fd, "api.example.org", 65, reply); /* HTTPS */
		assert_int_equal(reply[3] & 0xf, DNS_NOERROR);
		assert_int_equal(reply[7], 0);
		n = ask(fd, "2.0.18.198.in-addr.arpa", DNS_PTR, reply);
		assert_int_equal(reply[7], 1);
		assert_memory_equal(reply + n - 11 - 17, "\003api\007example\003org", 17);
		n = ask(fd, "localhost", DNS_A, reply);
		assert_memory_equal(reply + n - 11 - 4, "\177\0\0\1", 4);
		fd_close(fd);
	}
}

/* An allowed name has addresses and nothing else: no ECH and no address hints of HTTPS and SVCB, no other name. */
static void test_other_types(void **state)
{
	int fd = connect_to(LISTENER_DNS_UDP_V4, SOCK_DGRAM);
	uint8_t reply[512];

	(void)state;
	for (unsigned type = 0; type < 300; type++) {
		size_t n = ask(fd, "api.example.org", (uint16_t)type, reply);

		if (type == DNS_A || type == DNS_AAAA)
			continue;
		assert_int_equal(reply[3] & 0xf, DNS_NOERROR);
		/* No answer, no authority; the OPT record without an option is the whole rest. */
		assert_memory_equal(reply + 4, "\0\1\0\0\0\0\0\1", 8);
		assert_int_equal(n, 12 + 17 + 4 + 11);
	}
	/* What a browser asks for a port of its own. */
	ask(fd, "_8443._https.api.example.org", 65, reply);
	assert_int_equal(reply[3] & 0xf, DNS_NXDOMAIN);
	fd_close(fd);
}

/* Reverse names: of the session's own addresses, of those invented so far, and of no others. */
static void test_reverse(void **state)
{
	static const char *const unknown[] = {
		"3.0.18.198.in-addr.arpa", /* not invented yet */
		"1.0.18.198.in-addr.arpa", /* the resolver's */
		"0.0.18.198.in-addr.arpa",
		"1.0.0.10.in-addr.arpa",
		"254.169.254.169.in-addr.arpa",
		"02.0.18.198.in-addr.arpa",
		"0.18.198.in-addr.arpa",
		"1.2.0.18.198.in-addr.arpa",
		"3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.6.f.6.3.7.9.6.d.f.ip6.arpa",
	};
	static const char v6[] = "2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.6.f.6.3.7.9.6.d.f.ip6.arpa";
	int fd = connect_to(LISTENER_DNS_UDP_V4, SOCK_DGRAM);
	uint8_t reply[512];
	size_t n;

	(void)state;
	ask(fd, "api.example.org", DNS_A, reply);
	n = ask(fd, v6, DNS_PTR, reply);
	assert_int_equal(reply[7], 1);
	assert_memory_equal(reply + n - 11 - 17, "\003api\007example\003org", 17);
	ask(fd, v6, DNS_A, reply);
	assert_int_equal(reply[3] & 0xf, DNS_NOERROR);
	assert_int_equal(reply[7], 0);
	n = ask(fd, "1.0.0.127.in-addr.arpa", DNS_PTR, reply);
	assert_memory_equal(reply + n - 11 - 11, "\011localhost", 11);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		ask(fd, unknown[i], DNS_PTR, reply);
		assert_int_equal(reply[3] & 0xf, DNS_NXDOMAIN);
		assert_int_equal(reply[7], 0);
	}
	fd_close(fd);
}

static void test_denied(void **state)
{
	union driver_event e;
	uint8_t reply[512];
	int fd = connect_to(LISTENER_DNS_UDP_V4, SOCK_DGRAM);

	(void)state;
	for (int i = 0; i < 3; i++) {
		size_t n = ask(fd, "evil.example", DNS_A, reply);

		assert_int_equal(reply[3] & 0xf, DNS_NXDOMAIN);
		assert_int_equal(reply[7], 0);
		/* EDE: option 15, length 2 + 10, code 15 */
		assert_memory_equal(reply + n - 16, "\0\017\0\014\0\017not-listed", 16);
	}
	assert_int_equal(driver_event(&driver, &e), SESSION_DNS_DENIED);
	assert_string_equal(e.connection.name, "evil.example");
	assert_int_equal(e.connection.reason, EGRESS_NOT_LISTED);
	assert_int_equal(e.connection.count, 1);
	fd_close(fd);
	/* The other two are told together when the session ends. */
	driver.link = fd_close(driver.link);
	assert_int_equal(driver_event(&driver, &e), SESSION_DNS_DENIED);
	assert_int_equal(e.connection.count, 2);
	assert_int_equal(driver_event(&driver, &e), SESSION_EXITED);
}

/* What the owner of a denial says is in the answer. */
static void test_denied_with_a_reason(void **state)
{
	static const char text[] = "denied: Use the company's snippets.";
	uint8_t reply[512];
	int fd = connect_to(LISTENER_DNS_UDP_V4, SOCK_DGRAM);
	size_t n = ask(fd, "paste.example", DNS_A, reply);

	(void)state;
	assert_int_equal(reply[3] & 0xf, DNS_NXDOMAIN);
	assert_int_equal(reply[n - sizeof(text) - 2], sizeof(text) - 1 + 2);
	assert_memory_equal(reply + n - sizeof(text) + 1, text, sizeof(text) - 1);
	/* No other name inherits it. */
	n = ask(fd, "evil.example", DNS_A, reply);
	assert_memory_equal(reply + n - 10, "not-listed", 10);
	fd_close(fd);
}

/* Below these an allowed name lies: refused, but without the word that nothing is there. */
static void test_parents_exist(void **state)
{
	static const char *const names[] = { "org", "example.org", "example.net" };
	union driver_event e;
	uint8_t reply[512];
	int fd = connect_to(LISTENER_DNS_UDP_V4, SOCK_DGRAM);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t n = ask(fd, names[i], DNS_AAAA, reply);

		assert_int_equal(reply[3] & 0xf, DNS_NOERROR);
		assert_int_equal(reply[7], 0);
		assert_memory_equal(reply + n - 10, "not-listed", 10);
		assert_int_equal(driver_event(&driver, &e), SESSION_DNS_DENIED);
		assert_string_equal(e.connection.name, names[i]);
	}
	fd_close(fd);
}

static void test_junk_is_met_with_silence(void **state)
{
	uint8_t reply[512];
	int fd = connect_to(LISTENER_DNS_UDP_V4, SOCK_DGRAM);
	uint8_t big[5000] = { 0 };

	(void)state;
	assert_int_equal(send(fd, "", 0, 0), 0);
	assert_int_equal(send(fd, "short", 5, 0), 5);
	assert_int_equal(send(fd, "\0\1\x80\0\0\0\0\0\0\0\0\0", 12, 0), 12);
	assert_int_equal(send(fd, big, sizeof(big), 0), sizeof(big));
	/* In order: had any of those been answered, that answer would come first, and ask() compares the id. */
	ask(fd, "localhost", DNS_A, reply);
	fd_close(fd);
}

static void test_tcp_pipelined(void **state)
{
	static const int listeners[] = { LISTENER_DNS_TCP_V4, LISTENER_DNS_TCP_V6 };
	uint8_t query[2 + 512], reply[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(listeners); i++) {
		int fd = connect_to(listeners[i], SOCK_STREAM);
		size_t n = make_query("www.example.net", DNS_A, query + 2), expected;

		query[0] = 0;
		query[1] = (uint8_t)n;
		expected = n + 16; /* the question and OPT come back, with one record */
		for (int k = 0; k < 500; k++)
			assert_int_equal(send(fd, query, 2 + n, 0), 2 + n);
		/* Half a message, and the rest of it later. */
		assert_int_equal(send(fd, query, 1, 0), 1);
		for (int k = 0; k < 501; k++) {
			uint8_t body[512];

			if (k == 500)
				assert_int_equal(send(fd, query + 1, 1 + n, 0), 1 + n);
			assert_int_equal(recv(fd, reply, 2, MSG_WAITALL), 2);
			assert_int_equal(reply[0] << 8 | reply[1], expected);
			assert_int_equal(recv(fd, body, expected, MSG_WAITALL), expected);
			assert_int_equal(body[3] & 0xf, DNS_NOERROR);
		}
		fd_close(fd);
	}
}

static void test_tcp_bounds(void **state)
{
	uint8_t reply[512], query[2 + 512];
	size_t n = make_query("localhost", DNS_A, query + 2);
	int fds[65];
	char byte;

	(void)state;
	/* A length that no query has. */
	fds[0] = connect_to(LISTENER_DNS_TCP_V4, SOCK_STREAM);
	assert_int_equal(send(fds[0], "\xff\xff", 2, 0), 2);
	assert_true(recv(fds[0], &byte, 1, 0) <= 0 && errno != EAGAIN);
	fd_close(fds[0]);
	query[0] = 0;
	query[1] = (uint8_t)n;
	/* All places are taken by clients that ask nothing whole, but the first has asked since; one more takes the
	 * place of the second, whatever bytes that one has sent. */
	for (int i = 0; i < 64; i++)
		fds[i] = connect_to(LISTENER_DNS_TCP_V4, SOCK_STREAM);
	assert_int_equal(send(fds[0], query, 2 + n, 0), 2 + n);
	assert_int_equal(recv(fds[0], reply, 2 + n + 16, MSG_WAITALL), 2 + n + 16);
	for (int i = 1; i < 64; i++)
		assert_int_equal(send(fds[i], query, 1, 0), 1);
	fds[64] = connect_to(LISTENER_DNS_TCP_V4, SOCK_STREAM);
	assert_int_equal(send(fds[64], query, 2 + n, 0), 2 + n);
	assert_int_equal(recv(fds[64], reply, 2 + n + 16, MSG_WAITALL), 2 + n + 16);
	errno = 0;
	assert_true(recv(fds[1], &byte, 1, 0) <= 0);
	assert_int_not_equal(errno, EAGAIN);
	for (int i = 0; i < 3; i += 2) {
		assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
	}
	for (int i = 0; i < 65; i++)
		fd_close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_udp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reverse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_denied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_denied_with_a_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parents_exist, setup, teardown),
		cmocka_unit_test_setup_teardown(test_junk_is_met_with_silence, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tcp_pipelined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tcp_bounds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
