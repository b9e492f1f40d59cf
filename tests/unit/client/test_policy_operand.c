/* A path, a host or a URL: each is one thing only, or is refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "client/policy/policy_operand.h"

static void paths(void **state)
{
	static const char *const typed[] = {
		"/",
		"/etc/passwd",
		"./a.example",
		"../x",
		"~/x",
		"~",
		".",
		".env",
		".example.com",
		"a/b.c",
		"src/main.c",
		"Makefile",
		"node_modules/@types/x",
		"a b",
		"x:y",
		"a:99999",
		"@scope",
		"x..y",
		"a.c/",
		"example.com/path",
	};
	struct policy_operand o;

	for (size_t i = 0; i < ARRAY_SIZE(typed); i++) {
		struct error e = ERROR_INIT;

		if (policy_operand_read(typed[i], &o, &e) < 0 || o.is_host)
			fail_msg("%s: %s %s", typed[i], o.host, e.message);
	}
}

static void hosts(void **state)
{
	static const struct {
		const char *typed, *host;
		uint16_t port;
		uint8_t family;
	} cases[] = {
		{ "example.com", "example.com", 0, 0 },
		{ "Example.COM.", "example.com", 0, 0 },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--bcher-kva.example", 0, 0 },
		{ "example.com:8443", "example.com", 8443, 0 },
		{ "localhost:3000", "localhost", 3000, 0 },
		{ "db:5432", "db", 5432, 0 },
		{ "package.lock", "package.lock", 0, 0 },
		{ "192.0.2.1", "192.0.2.1", 0, AF_INET },
		{ "192.0.2.1:22", "192.0.2.1", 22, AF_INET },
		{ "2001:db8::1", "2001:db8::1", 0, AF_INET6 },
		{ "[2001:DB8::1]", "2001:db8::1", 0, AF_INET6 },
		{ "[2001:db8::1]:22", "2001:db8::1", 22, AF_INET6 },
		{ "https://example.com", "example.com", 443, 0 },
		{ "HTTP://u:p@example.com/x?y#z", "example.com", 80, 0 },
		{ "https://example.com:8443/a@b", "example.com", 8443, 0 },
		{ "wss://[2001:db8::1]/x", "2001:db8::1", 443, AF_INET6 },
		{ "ssh://git@example.com/x.git", "example.com", 22, 0 },
		{ "postgres://u@db.example/x", "db.example", 5432, 0 },
		{ "odd://example.com:7", "example.com", 7, 0 },
		{ "git@example.com:org/x.git", "example.com", 22, 0 },
	};
	struct policy_operand o;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e = ERROR_INIT;

		if (policy_operand_read(cases[i].typed, &o, &e) < 0)
			fail_msg("%s: %s", cases[i].typed, e.message);
		assert_true(o.is_host);
		assert_string_equal(o.host, cases[i].host);
		assert_int_equal(o.port, cases[i].port);
		assert_int_equal(o.family, cases[i].family);
		assert_int_equal(o.is_literal, cases[i].family != 0);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *typed, *message;
	} cases[] = {
		{ "", "names nothing" },
		{ "https://", "without a valid host" },
		{ "https://a b/", "without a valid host" },
		{ "https://example.com:0/", "without a valid host" },
		{ "https://2130706433/", "without a valid host" },
		{ "file:///etc/passwd", "without a valid host" },
		{ "odd://example.com/", "port is not known" },
		{ "10.0.0.0/8", "is a network" },
		{ "2001:db8::/32", "is a network" },
		{ "*.example.com", "many hosts" },
		{ "[::1", "brackets" },
	};
	struct policy_operand o;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e = ERROR_INIT;

		assert_true(policy_operand_read(cases[i].typed, &o, &e) < 0);
		if (!strstr(e.message, cases[i].message))
			fail_msg("%s: %s", cases[i].typed, e.message);
	}
}

static void what_is_there(void **state)
{
	static const struct {
		const char *typed;
		bool is_host, may_be_host;
	} cases[] = {
		{ "both.example", false, true },         { "both.example:80", false, true },
		{ "both.example:81", true, false },      { "other.example", true, false },
		{ "https://both.example", true, false }, { "./both.example", false, false },
	};
	char folder[] = "/tmp/operand-XXXXXX";
	struct policy_operand o;
	struct error e = ERROR_INIT;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	close(creat("both.example", 0600));
	close(creat("both.example:80", 0600));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (policy_operand_read(cases[i].typed, &o, &e) < 0 || o.is_host != cases[i].is_host ||
		    o.may_be_host != cases[i].may_be_host)
			fail_msg("%s: %d %d %s", cases[i].typed, o.is_host, o.may_be_host, e.message);
	unlink("both.example");
	unlink("both.example:80");
	assert_int_equal(chdir("/"), 0);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(paths), cmocka_unit_test(hosts), cmocka_unit_test(refused),
					    cmocka_unit_test(what_is_there) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
