#include "daemon/session/dns/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/wire/netns.h"

static void test_stable_and_distinct(void **state)
{
	struct names *n = names_new();
	uint8_t a[16], b[16], again[16], v6[16], zero[12] = { 0 };

	(void)state;
	assert_non_null(n);
	assert_int_equal(names_address(n, "a.example", AF_INET, a), 0);
	assert_int_equal(names_address(n, "b.example", AF_INET, b), 0);
	assert_int_equal(names_address(n, "a.example", AF_INET, again), 0);
	assert_memory_equal(a, again, 16);
	assert_memory_not_equal(a, b, 16);
	assert_memory_equal(a + 4, zero, 12);
	assert_int_equal(names_address(n, "a.example", AF_INET6, v6), 0);
	assert_string_equal(names_lookup(n, AF_INET, a), "a.example");
	assert_string_equal(names_lookup(n, AF_INET, b), "b.example");
	assert_string_equal(names_lookup(n, AF_INET6, v6), "a.example");
	assert_int_equal(names_address(n, "a.example", AF_UNIX, a), -EAFNOSUPPORT);
	names_free(n);
}

static void test_edges_of_the_ranges(void **state)
{
	static const struct {
		int family;
		const char *text;
		bool invented;
	} cases[] = {
		{ AF_INET, "198.17.255.255", false },
		{ AF_INET, NETNS_INVENTED_V4, true },
		{ AF_INET, NETNS_RESOLVER_V4, true },
		{ AF_INET, "198.19.255.255", true },
		{ AF_INET, "198.20.0.0", false },
		{ AF_INET6, NETNS_RESOLVER_V6, true },
		{ AF_INET6, "fd69:736f:6400:0:ffff:ffff:ffff:ffff", true },
		{ AF_INET6, "fd69:736f:6400:1::2", false },
		{ AF_INET6, "::", false },
	};
	struct names *n = names_new();
	uint8_t address[16];

	(void)state;
	assert_int_equal(names_address(n, "only.example", AF_INET, address), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(address, 0, 16);
		assert_int_equal(inet_pton(cases[i].family, cases[i].text, address), 1);
		assert_int_equal(names_is_invented(cases[i].family, address), cases[i].invented);
		/* The one name has offset 2: none of these. */
		assert_null(names_lookup(n, cases[i].family, address));
	}
	/* The low bytes alone do not make an address ours. */
	inet_pton(AF_INET6, "fd69:736f:6400::1:0:2", address);
	assert_null(names_lookup(n, AF_INET6, address));
	inet_pton(AF_INET6, "fd69:736f:6400::2", address);
	assert_string_equal(names_lookup(n, AF_INET6, address), "only.example");
	assert_false(names_is_invented(AF_UNIX, address));
	names_free(n);
	names_free(NULL);
}

static void test_full(void **state)
{
	struct names *n = names_new();
	uint8_t address[16];
	char name[32];

	(void)state;
	for (unsigned i = 0; i < LIMIT_DNS_NAMES; i++) {
		snprintf(name, sizeof(name), "n%u.example", i);
		assert_int_equal(names_address(n, name, AF_INET, address), 0);
		assert_string_equal(names_lookup(n, AF_INET, address), name);
	}
	assert_int_equal(names_address(n, "more.example", AF_INET, address), -ENOSPC);
	/* Known ones still answer. */
	assert_int_equal(names_address(n, "n0.example", AF_INET6, address), 0);
	assert_string_equal(names_lookup(n, AF_INET6, address), "n0.example");
	names_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stable_and_distinct),
		cmocka_unit_test(test_edges_of_the_ranges),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
