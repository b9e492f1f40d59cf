/* Parsing, unwrapping and classes of addresses. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/address.h"

static int parse(const char *text, uint8_t ret[16])
{
	return address_parse(text, strlen(text), ret);
}

static void strict_parsing(void **state)
{
	static const char *const good4[] = { "0.0.0.0", "1.2.3.4", "255.255.255.255" };
	static const char *const good6[] = { "::",          "::1", "2001:db8::1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8",
					     "2001:DB8::A", "1::8" };
	static const char *const bad[] = {
		"",
		"1",
		"1.2",
		"1.2.3",
		"1.2.3.4.5",
		"01.2.3.4",
		"1.2.3.04",
		"0x1.2.3.4",
		"256.1.1.1",
		"1.2.3.4 ",
		" 1.2.3.4",
		"1.2.3.-4",
		"1.2.3.+4",
		"1..3.4",
		"1.2.3.4.",
		"::1%lo",
		"fe80::1%1",
		"[::1]",
		":::",
		"1::2::3",
		"12345::",
		"1:2:3:4:5:6:7",
		":1",
		"1:",
		"::1.2.3",
		"::g",
		"1.2.3.4/32",
		"2130706433",
		"0x7f000001",
		"localhost",
		"::ffff:1.2.3.04",
		"1:2:3:4:5:6:7:8:9",
		"1:2:3:4:5:6:7::8:9",
		"0000000000000000000000000000000000000000000000000000000000000000000000001.2.3.4",
	};
	uint8_t address[16];

	for (size_t i = 0; i < ARRAY_SIZE(good4); i++)
		assert_int_equal(parse(good4[i], address), AF_INET);
	for (size_t i = 0; i < ARRAY_SIZE(good6); i++)
		assert_int_equal(parse(good6[i], address), AF_INET6);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse(bad[i], address) >= 0)
			fail_msg("\"%s\" was taken", bad[i]);
	assert_true(address_parse("1.2.3.4\0", 8, address) < 0);
	assert_int_equal(address_parse("1.2.3.45", 7, address), AF_INET);
	assert_memory_equal(address, ((uint8_t[16]){ 1, 2, 3, 4 }), 16);
}

static const char *const special[] = {
	"0.0.0.0",
	"0.255.255.255",
	"10.0.0.0",
	"10.255.255.255",
	"100.64.0.0",
	"100.127.255.255",
	"127.0.0.0",
	"127.0.0.1",
	"127.255.255.255",
	"169.254.0.0",
	"169.254.169.254",
	"169.254.255.255",
	"172.16.0.0",
	"172.31.255.255",
	"192.0.0.0",
	"192.0.0.255",
	"192.0.2.0",
	"192.0.2.255",
	"192.88.99.0",
	"192.88.99.255",
	"192.168.0.0",
	"192.168.255.255",
	"198.18.0.0",
	"198.19.255.255",
	"198.51.100.0",
	"198.51.100.255",
	"203.0.113.0",
	"203.0.113.255",
	"224.0.0.0",
	"239.255.255.255",
	"240.0.0.0",
	"255.255.255.254",
	"255.255.255.255",
	/* IPv6 */
	"::",
	"::1",
	"::2",
	"::ffff:ffff",
	"::7f00:1",
	"::8.8.8.8",
	"::ffff:127.0.0.1",
	"::ffff:10.0.0.1",
	"::ffff:169.254.169.254",
	"64:ff9b::10.0.0.1",
	"64:ff9b::7f00:1",
	"64:ff9b::a9fe:a9fe",
	"64:ff9b:1::",
	"64:ff9b:1:808:8:800::",
	"64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
	"64:ff9b:2::",
	"64:ff9b::1:0:0",
	"100::",
	"100::ffff:ffff:ffff:ffff",
	"100:0:0:1::",
	"1fff:ffff::",
	"2001::",
	"2001::1",
	"2001:0:ffff::f7f7:f7f7",
	"2001:1::1",
	"2001:2::",
	"2001:3::",
	"2001:4:112::",
	"2001:10::",
	"2001:1f:ffff::",
	"2001:20::",
	"2001:30::",
	"2001:1ff:ffff::",
	"2001:db8::",
	"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	"2002::",
	"2002:808:808::",
	"2002:7f00:1::",
	"2002:ffff:ffff::",
	"3fff::",
	"3fff:fff:ffff::",
	"4000::",
	"5f00::",
	"5f00:ffff::",
	"8000::",
	"fc00::",
	"fdff::",
	"fd69:736f:6400::1",
	"fe00::",
	"fe80::1",
	"febf::",
	"2a00:1450::5efe:a00:1",
	"2a00:1450::200:5efe:808:808",
	"2a00:1450::100:5efe:a9fe:a9fe",
	"2a00:1450:1:2:300:5efe:7f00:1",
	"fec0::",
	"feff::",
	"ff00::",
	"ff02::1",
	"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
};

/* The neighbours of the ranges, and what people use. */
static const char *const ordinary[] = {
	"1.0.0.0",
	"8.8.8.8",
	"9.255.255.255",
	"11.0.0.0",
	"100.63.255.255",
	"100.128.0.0",
	"126.255.255.255",
	"128.0.0.0",
	"169.253.255.255",
	"169.255.0.0",
	"172.15.255.255",
	"172.32.0.0",
	"191.255.255.255",
	"192.0.1.0",
	"192.0.3.0",
	"192.88.98.255",
	"192.88.100.0",
	"192.167.255.255",
	"192.169.0.0",
	"198.17.255.255",
	"198.20.0.0",
	"198.51.99.255",
	"198.51.101.0",
	"203.0.112.255",
	"203.0.114.0",
	"223.255.255.255",
	/* IPv6 */
	"2000::",
	"2000:ffff::",
	"2001:200::",
	"2001:4860:4860::8888",
	"2001:db7:ffff::",
	"2001:db9::",
	"2003::",
	"2606:4700::1111",
	"2a00:1450::",
	"3ffe:ffff::",
	"2a00:1450::400:5efe:a00:1",
	"2a00:1450::5eff:a00:1",
	"2a00:1450::1:5efe:a00:1",
	"2a00:1450:0:0:0:a00:5efe:1",
	"3fff:1000::",
	"::ffff:8.8.8.8",
	"64:ff9b::8.8.8.8",
	"64:ff9b::808:808",
};

static void classes(void **state)
{
	uint8_t address[16];
	int family;

	for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
		family = parse(special[i], address);
		assert_true(family > 0);
		if (!address_is_special(family, address))
			fail_msg("%s is taken for ordinary", special[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++) {
		family = parse(ordinary[i], address);
		assert_true(family > 0);
		if (address_is_special(family, address))
			fail_msg("%s is taken for special", ordinary[i]);
	}
	assert_true(address_is_special(AF_UNIX, address));
}

struct wrapped {
	const char *outer;
	const char *inner;
};

static const struct wrapped wrapped[] = {
	{ "8.8.8.8", "8.8.8.8" },
	{ "::ffff:127.0.0.1", "127.0.0.1" },
	{ "::127.0.0.1", "127.0.0.1" },
	{ "::2", "0.0.0.2" },
	{ "::", "::" },
	{ "::1", "::1" },
	{ "64:ff9b::10.1.2.3", "10.1.2.3" },
	{ "64:ff9b:1:a01:2:300::", "10.1.2.3" },
	{ "64:ff9b:1:a01:ff02:300::", "10.1.2.3" }, /* byte 8 does not count */
	{ "2002:a01:203::1", "10.1.2.3" },
	{ "2001:0:1:2:3:4:f5fe:fdfc", "10.1.2.3" },
	{ "2001:db8::1", "2001:db8::1" },
	{ "2001:1::7f00:1", "2001:1::7f00:1" },
	{ "64:ff9a::7f00:1", "64:ff9a::7f00:1" },
	{ "::fffe:7f00:1", "::fffe:7f00:1" },
};

static void unwrapping(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrapped); i++) {
		uint8_t outer[16], inner[16], got[16];
		int family = parse(wrapped[i].inner, inner);
		char text[64];

		if (address_unwrap(parse(wrapped[i].outer, outer), outer, got) != family ||
		    memcmp(got, inner, sizeof(got)) != 0)
			fail_msg("%s: got %s", wrapped[i].outer, address_format(AF_INET, got, text));
	}
}

static void prefixes(void **state)
{
	uint8_t a[16], p[16], ret[16];

	parse("10.1.2.3", a);
	parse("10.1.0.0", p);
	assert_true(address_in_prefix(AF_INET, a, AF_INET, p, 16));
	assert_true(address_in_prefix(AF_INET, a, AF_INET, p, 0));
	assert_true(address_in_prefix(AF_INET, a, AF_INET, a, 32));
	assert_false(address_in_prefix(AF_INET, a, AF_INET, p, 32));
	assert_false(address_in_prefix(AF_INET, a, AF_INET, p, 33));
	assert_false(address_in_prefix(AF_INET6, a, AF_INET, p, 16));
	address_mask(AF_INET, a, 31, ret);
	assert_memory_equal(ret, ((uint8_t[16]){ 10, 1, 2, 2 }), 16);
	parse("2001:db8:ffff::1", a);
	address_mask(AF_INET6, a, 33, ret);
	parse("2001:db8:8000::", p);
	assert_memory_equal(ret, p, 16);
	assert_true(address_in_prefix(AF_INET6, a, AF_INET6, p, 33));
	assert_false(address_in_prefix(AF_INET6, a, AF_INET6, p, 34 + 16));
}

struct network {
	const char *text;
	unsigned bits;
	bool special;
	bool embedded;
};

static const struct network networks[] = {
	{ "0.0.0.0", 0, false, false },
	{ "10.0.0.0", 8, true, false },
	{ "10.0.0.0", 7, false, false },
	{ "10.1.0.0", 16, true, false },
	{ "240.0.0.0", 4, true, false },
	{ "224.0.0.0", 3, false, false },
	{ "8.8.8.8", 32, false, false },
	{ "::", 0, false, false },
	{ "::1", 128, true, false },
	{ "::", 128, true, false },
	{ "::", 96, true, true },
	{ "::ffff:0:0", 96, true, true },
	{ "::ffff:0:0", 95, true, false },
	{ "fc00::", 7, true, false },
	{ "2000::", 3, false, false },
	{ "2000::", 2, false, false },
	{ "2002::", 16, true, true },
	{ "2002::", 15, false, false },
	{ "2001::", 32, true, true },
	{ "2001::", 23, true, false },
	{ "64:ff9b::", 96, true, true },
	{ "4000::", 2, false, false },
	{ "2600::", 12, false, false },
	{ "2600::5efe:0:0", 96, true, false },
	{ "2600::5efe:0:0", 95, false, false },
};

static void networks_by_class(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
		const struct network *n = &networks[i];
		uint8_t address[16];
		int family = parse(n->text, address);

		if (address_prefix_is_special(family, address, n->bits) != n->special ||
		    address_prefix_is_embedded(family, address, n->bits) != n->embedded)
			fail_msg("%s/%u", n->text, n->bits);
	}
}

/* The table of RFC 6052, 2.4, each prefix learned from ipv4only.arpa as RFC 7050 has it. */
static void nat64(void **state)
{
	static const struct {
		const char *known, *address;
		unsigned bits;
	} cases[] = {
		{ "2001:db8:c000:aa::", "2001:db8:c000:221::", 32 },
		{ "2001:db8:1c0:0:aa::", "2001:db8:1c0:2:21::", 40 },
		{ "2001:db8:122:c000:0:aa00::", "2001:db8:122:c000:2:2100::", 48 },
		{ "2001:db8:122:3c0:0:aa::", "2001:db8:122:3c0:0:221::", 56 },
		{ "2001:db8:122:344:c0:0:aa00:0", "2001:db8:122:344:c0:2:2100::", 64 },
		{ "2001:db8:122:344::192.0.0.170", "2001:db8:122:344::192.0.2.33", 96 },
		{ "64:ff9b::192.0.0.171", "64:ff9b::192.0.2.33", 96 },
	};
	static const char *const none[] = { "2001:db8::1", "2001:db8:122:344::192.0.0.172",
					    "2001:db8:122:344:ffc0:0:aa00:0", "::" };
	static const uint8_t inner[16] = { 192, 0, 2, 33 };
	struct address_nat64 n;
	uint8_t address[16], ret[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		parse(cases[i].known, address);
		assert_true(address_nat64_learn(address, &n));
		assert_int_equal(n.bits, cases[i].bits);
		parse(cases[i].address, address);
		assert_true(address_nat64_unwrap(&n, address, ret));
		assert_memory_equal(ret, inner, sizeof(inner));
		parse("2a00:1450::1", address);
		assert_false(address_nat64_unwrap(&n, address, ret));
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		parse(none[i], address);
		assert_false(address_nat64_learn(address, &n));
	}
}

static void formatting(void **state)
{
	uint8_t address[16];
	char text[64];

	parse("2001:0db8:0:0::1", address);
	assert_string_equal(address_format(AF_INET6, address, text), "2001:db8::1");
	parse("192.0.2.7", address);
	assert_string_equal(address_format(AF_INET, address, text), "192.0.2.7");
	assert_string_equal(address_format(AF_UNIX, address, text), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nat64),      cmocka_unit_test(strict_parsing), cmocka_unit_test(classes),
		cmocka_unit_test(unwrapping), cmocka_unit_test(prefixes),       cmocka_unit_test(networks_by_class),
		cmocka_unit_test(formatting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
