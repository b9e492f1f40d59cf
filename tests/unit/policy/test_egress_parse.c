/* Entries of allowedDomains and deniedDomains: what they mean, and what the refusals show. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/address.h"
#include "policy/egress.h"

struct good {
	const char *text;
	uint8_t kind;
	const char *what; /* the name, or the network's address */
	uint8_t bits;
	uint16_t port;
};

static const struct good good[] = {
	{ "ok.example", EGRESS_RULE_HOST, "ok.example", 0, 0 },
	{ "OK.Example.", EGRESS_RULE_HOST, "ok.example", 0, 0 },
	{ "ok.example:8443", EGRESS_RULE_HOST, "ok.example", 0, 8443 },
	{ "ok.example.:1", EGRESS_RULE_HOST, "ok.example", 0, 1 },
	{ "ok.example:65535", EGRESS_RULE_HOST, "ok.example", 0, 65535 },
	{ "intranet", EGRESS_RULE_HOST, "intranet", 0, 0 },
	{ "b\xc3\xbc"
	  "cher.example",
	  EGRESS_RULE_HOST, "xn--bcher-kva.example", 0, 0 },
	{ "*.example.com", EGRESS_RULE_SUFFIX, "example.com", 0, 0 },
	{ "*.Example.COM.:22", EGRESS_RULE_SUFFIX, "example.com", 0, 22 },
	{ "*.b\xc3\xbc"
	  "cher.example",
	  EGRESS_RULE_SUFFIX, "xn--bcher-kva.example", 0, 0 },
	{ "192.0.2.7", EGRESS_RULE_ADDRESS, "192.0.2.7", 32, 0 },
	{ "192.0.2.7:22", EGRESS_RULE_ADDRESS, "192.0.2.7", 32, 22 },
	{ "10.0.0.0/8", EGRESS_RULE_ADDRESS, "10.0.0.0", 8, 0 },
	{ "10.0.0.0/8:5432", EGRESS_RULE_ADDRESS, "10.0.0.0", 8, 5432 },
	{ "0.0.0.0/0", EGRESS_RULE_ADDRESS, "0.0.0.0", 0, 0 },
	{ "[::1]", EGRESS_RULE_ADDRESS, "::1", 128, 0 },
	{ "[2001:db8::1]:443", EGRESS_RULE_ADDRESS, "2001:db8::1", 128, 443 },
	{ "2001:db8::/32", EGRESS_RULE_ADDRESS, "2001:db8::", 32, 0 },
	{ "2001:db8::/32:443", EGRESS_RULE_ADDRESS, "2001:db8::", 32, 443 },
	{ "[2001:db8::/32]:443", EGRESS_RULE_ADDRESS, "2001:db8::", 32, 443 },
};

static void meant(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		for (unsigned deny = 0; deny < 2; deny++) {
			struct error e = ERROR_INIT;
			struct egress_rule rule;
			uint8_t address[16];

			if (egress_rule_parse(good[i].text, deny, &rule, &e) < 0)
				fail_msg("\"%s\": %s", good[i].text, e.message);
			assert_int_equal(rule.kind, good[i].kind);
			assert_int_equal(rule.deny, deny);
			assert_int_equal(rule.port, good[i].port);
			assert_int_equal(e.code, ERROR_NONE);
			if (rule.kind != EGRESS_RULE_ADDRESS) {
				assert_string_equal(rule.name, good[i].what);
				free((char *)rule.name);
				continue;
			}
			assert_null(rule.name);
			assert_int_equal(rule.family, address_parse(good[i].what, strlen(good[i].what), address));
			assert_memory_equal(rule.address, address, 16);
			assert_int_equal(rule.bits, good[i].bits);
		}
}

struct bad {
	const char *text;
	const char *shown; /* part of the remedy */
};

static const struct bad bad[] = {
	{ "", "Write host" },
	{ " ", "Write host" },
	{ "ok.example ", "Write host" },
	{ "ok.example\n", "Write host" },
	{ "*", "\"*.example.com\"" },
	{ "*:443", "\"*.example.com\"" },
	{ "*.", "*.domain" },
	{ "*..", "*.domain" },
	{ "*.com", "two labels" },
	{ "*.com.", "two labels" },
	{ "*.com:443", "two labels" },
	{ "*github.com", "\"*.github.com\"" },
	{ "git*.com", "\"*.example.com\"" },
	{ "a.*.com", "\"*.example.com\"" },
	{ "*.*", "\"*.example.com\"" },
	{ "*.*.com", "\"*.example.com\"" },
	{ "**.example.com", "\"*.example.com\"" },
	{ "example.*", "\"*.example.com\"" },
	{ "*.10.0.0.1", "Write host" },
	{ ".github.com", "\"*.github.com\"" },
	{ "https://x/", "\"x\"" },
	{ "https://x", "\"x\"" },
	{ "https://user:pass@x.example:8443/a?b@c#d", "\"x.example:8443\"" },
	{ "ssh://git@x.example", "\"x.example\"" },
	{ "https://", "\"example.com\"" },
	{ "git@x.example", "\"x.example\"" },
	{ "git@x.example:org/repo", "\"x.example:org\"" },
	{ "x.example/path", "\"x.example\"" },
	{ "x.example/", "\"x.example\"" },
	{ "x.example:443/path", "\"x.example:443\"" },
	{ "x.example:", "1 to 65535" },
	{ "x.example:0", "1 to 65535" },
	{ "x.example:65536", "1 to 65535" },
	{ "x.example:+80", "1 to 65535" },
	{ "x.example:-80", "1 to 65535" },
	{ "x.example:080", "1 to 65535" },
	{ "x.example:http", "1 to 65535" },
	{ "x.example:*", "1 to 65535" },
	{ "x.example:80-90", "1 to 65535" },
	{ ":443", "Write host" },
	{ ":", "Write host" },
	{ "localhost", "sandbox itself" },
	{ "localhost:3000", "sandbox itself" },
	{ "LOCALHOST.", "sandbox itself" },
	{ "a.localhost", "sandbox itself" },
	{ "*.a.localhost", "sandbox itself" },
	{ "*.localhost", "sandbox itself" },
	{ "127.1", "Write host" },
	{ "2130706433", "Write host" },
	{ "0x7f000001", "Write host" },
	{ "0x7f.0.0.1", "Write host" },
	{ "0177.0.0.1", "Write host" },
	{ "127.0.0.01", "Write host" },
	{ "1.2.3.4.5", "Write host" },
	{ "256.1.1.1", "Write host" },
	{ "10.1.2.3/8", "\"10.0.0.0/8\"" },
	{ "10.0.0.0/33", "10.1.0.0/16" },
	{ "10.0.0.0/08", "10.1.0.0/16" },
	{ "10.0.0.0/", "10.1.0.0/16" },
	{ "10.0.0.0/8/8", "10.1.0.0/16" },
	{ "10.0.0.0/8:0", "1 to 65535" },
	{ "10.0.0.0/-1", "10.1.0.0/16" },
	{ "10.0/16", "\"10.0\"" },
	{ "::1", "[2001:4860:4860::8888]:443" },
	{ "::1:443", "[2001:4860:4860::8888]:443" },
	{ "[::1", "[IPv6]:port" },
	{ "[::1]443", "[IPv6]:port" },
	{ "[::1]:", "1 to 65535" },
	{ "[]", "[IPv6]:port" },
	{ "[1.2.3.4]:80", "[IPv6]:port" },
	{ "[x.example]:80", "[IPv6]:port" },
	{ "[::1%25lo]:443", "[IPv6]:port" },
	{ "[v1.x]:443", "[IPv6]:port" },
	{ "[2001:db8::/129]", "[IPv6]:port" },
	{ "[::ffff:1.2.3.4]", "IPv4 address" },
	{ "[64:ff9b::1.2.3.4]:443", "IPv4 address" },
	{ "2002::/16", "IPv4 address" },
	{ "2001::/32", "IPv4 address" },
	{ "xn--a", "Write host" },
	{ "a%2eb", "Write host" },
	{ "a..b", "Write host" },
	{ "a\\b", "Write host" },
	{ "-a.example", "Write host" },
	{ "a,b", "Write host" },
	{ "\xff", "Write host" },
};

static void not_meant(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct egress_rule rule = { .bits = 77 };
		struct error e = ERROR_INIT;

		if (egress_rule_parse(bad[i].text, i % 2, &rule, &e) >= 0)
			fail_msg("\"%s\" was taken", bad[i].text);
		assert_int_equal(rule.bits, 77);
		assert_int_equal(e.code, ERROR_POLICY);
		assert_int_equal(e.message[strlen(e.message) - 1], '.');
		if (!strstr(e.remedy, bad[i].shown))
			fail_msg("\"%s\": %s | %s", bad[i].text, e.message, e.remedy);
	}
	/* Without an error object as well. */
	assert_int_not_equal(egress_rule_parse("*", false, &(struct egress_rule){ 0 }, NULL), 0);
}

static void long_text(void **state)
{
	enum { LONG = 100000 };
	char *text = malloc(LONG + 1);
	struct egress_rule rule;
	static const char fill[] = "a.:[/*@1";

	assert_non_null(text);
	text[LONG] = '\0';
	for (size_t i = 0; i < sizeof(fill) - 1; i++) {
		struct error e = ERROR_INIT;

		memset(text, fill[i], LONG);
		assert_int_not_equal(egress_rule_parse(text, false, &rule, &e), 0);
		memcpy(text, "https://", 8);
		assert_int_not_equal(egress_rule_parse(text, false, &rule, &e), 0);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meant),
		cmocka_unit_test(not_meant),
		cmocka_unit_test(long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
