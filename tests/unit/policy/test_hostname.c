/* Host names and host:port, spelling by spelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/hostname.h"

#define L63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"
#define N253                                                                                                           \
	L63 "." L63 "." L63 "."                                                                                        \
	    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi"

struct spelling {
	const char *text;
	const char *canonical; /* NULL: refused */
};

static const struct spelling wire[] = {
	{ "ok.example", "ok.example" },
	{ "OK.Example.", "ok.example" },
	{ "ok.example.", "ok.example" },
	{ "ok.example..", NULL },
	{ "a", "a" },
	{ "A", "a" },
	{ "a.", "a" },
	{ "z9", "z9" },
	{ "9z", "9z" },
	{ "3com.com", "3com.com" },
	{ "1.2.3.com", "1.2.3.com" },
	{ "a-b.example", "a-b.example" },
	{ "a--b.example", "a--b.example" },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
	{ "XN--BCHER-KVA.example", "xn--bcher-kva.example" },
	{ "_dmarc.example", "_dmarc.example" },
	{ "a_b.example", "a_b.example" },
	{ "_", "_" },
	{ "localhost", "localhost" },
	{ L63, L63 },
	{ L63 ".example", L63 ".example" },
	{ L63 "l", NULL },
	{ "example." L63 "l", NULL },
	{ L63 "l.example", NULL },
	{ N253, N253 },
	{ N253 ".", N253 },
	{ N253 "j", NULL },
	{ N253 "j.", NULL },
	{ N253 "..", NULL },
	{ "", NULL },
	{ ".", NULL },
	{ "..", NULL },
	{ ".a", NULL },
	{ ".ok.example", NULL },
	{ "a..b", NULL },
	{ "a...b", NULL },
	{ "-a.example", NULL },
	{ "a-.example", NULL },
	{ "a.-", NULL },
	{ "-", NULL },
	{ "a.b-", NULL },
	{ "a b", NULL },
	{ " a", NULL },
	{ "a ", NULL },
	{ "a\t", NULL },
	{ "a\n", NULL },
	{ "a\r\n", NULL },
	{ "a.example\r\nHost: evil.example", NULL },
	{ "\x01", NULL },
	{ "a\x1b[31m", NULL },
	{ "a\x7f", NULL },
	{ "a%2eb", NULL },
	{ "a%00b", NULL },
	{ "%61.example", NULL },
	{ "a/b", NULL },
	{ "a\\b", NULL },
	{ "a:80", NULL },
	{ "a@b", NULL },
	{ "a?b", NULL },
	{ "a#b", NULL },
	{ "a,b", NULL },
	{ "a;b", NULL },
	{ "a&b", NULL },
	{ "a=b", NULL },
	{ "a+b", NULL },
	{ "a!b", NULL },
	{ "a$b", NULL },
	{ "a'b", NULL },
	{ "a\"b", NULL },
	{ "a*b", NULL },
	{ "*", NULL },
	{ "*.example", NULL },
	{ "(a)", NULL },
	{ "<a>", NULL },
	{ "{a}", NULL },
	{ "a|b", NULL },
	{ "a^b", NULL },
	{ "a`b", NULL },
	{ "~a", NULL },
	{ "[a]", NULL },
	{ "[::1]", NULL },
	{ "::1", NULL },
	{ "fe80::1%lo", NULL },
	{ "127.0.0.1", NULL },
	{ "127.0.0.1.", NULL },
	{ "127.1", NULL },
	{ "127", NULL },
	{ "0", NULL },
	{ "2130706433", NULL },
	{ "0177.0.0.1", NULL },
	{ "0x7f.0.0.1", NULL },
	{ "0x7f000001", NULL },
	{ "0X7F000001", NULL },
	{ "0x", NULL },
	{ "127.0.0.0x1", NULL },
	{ "0x7f.0x0.0x0.0x1", NULL },
	{ "1.2.3.4.5", NULL },
	{ "a.example.0", NULL },
	{ "a.example.0x1f", NULL },
	{ "a.0xg", "a.0xg" },
	{ "0x7f.example", "0x7f.example" },
	{ "0x.example", "0x.example" },
	{ "1e3", "1e3" },
	{ "127.0.0.1.example", "127.0.0.1.example" },
	{ "ex\xc3\xa4mple", NULL },
	{ "\xff", NULL },
	{ "\x80", NULL },
	{ "a\xe3\x80\x82"
	  "b",
	  NULL },
	{ "\xef\xbd\x81", NULL },
	{ "\xef\xbb\xbf"
	  "a",
	  NULL },
	{ "a\xe2\x80\x8b"
	  "b",
	  NULL },
};

static void wire_spellings(void **state)
{
	_Static_assert(ARRAY_SIZE(wire) > 100, "the odd ones count");
	assert_int_equal(strlen(N253), 253);
	for (size_t i = 0; i < ARRAY_SIZE(wire); i++) {
		char ret[HOSTNAME_MAX + 1] = "untouched";
		int r = hostname_canonical(wire[i].text, strlen(wire[i].text), ret);

		if ((r == 0) != (wire[i].canonical != NULL))
			fail_msg("\"%s\": %d", wire[i].text, r);
		assert_string_equal(ret, wire[i].canonical ? wire[i].canonical : "untouched");
	}
}

static void every_byte(void **state)
{
	for (unsigned c = 0; c < 256; c++) {
		char text[3] = { 'x', (char)c, 'x' }, ret[HOSTNAME_MAX + 1];
		bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
			    c == '_' || c == '.';

		assert_int_equal(hostname_canonical(text, sizeof(text), ret) == 0, good);
	}
	/* A NUL ends nothing. */
	assert_int_not_equal(hostname_canonical("ok.example\0.evil", 16, (char[HOSTNAME_MAX + 1]){ 0 }), 0);
}

static void canonical_is_stable(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(wire); i++) {
		char once[HOSTNAME_MAX + 1], twice[HOSTNAME_MAX + 1];

		if (hostname_canonical(wire[i].text, strlen(wire[i].text), once) < 0)
			continue;
		assert_int_equal(hostname_canonical(once, strlen(once), twice), 0);
		assert_string_equal(once, twice);
	}
}

static const struct spelling policy[] = {
	{ "OK.Example.", "ok.example" },
	{ "b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example" },
	{ "B\xc3\x9c"
	  "CHER.Example.",
	  "xn--bcher-kva.example" },
	{ "bu\xcc\x88"
	  "cher.example",
	  "xn--bcher-kva.example" }, /* decomposed */
	{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
	{ "XN--BCHER-KVA.example", "xn--bcher-kva.example" },
	{ "stra\xc3\x9f"
	  "e.example",
	  "xn--strae-oqa.example" },                          /* non-transitional: not strasse */
	{ "\xef\xbd\x8f\xef\xbd\x8b.example", "ok.example" }, /* full width */
	{ "ok\xe3\x80\x82"
	  "example",
	  "ok.example" }, /* ideographic full stop */
	{ "_x.example", "_x.example" },
	{ "xn--a", NULL },
	{ "xn--.example", NULL },
	{ "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", NULL }, /* full width 127.0.0.1 */
	{ "a\xe2\x84\x80"
	  "b.example",
	  NULL }, /* maps to a/c */
	{ "a\xef\xbc\x8f"
	  "b.example",
	  NULL }, /* full width slash */
	{ "a\xef\xbc\x9a"
	  "80",
	  NULL }, /* full width colon */
	{ "\xff.example", NULL },
	{ "\xed\xb2\x80.example", NULL },
	{ "", NULL },
	{ "127.0.0.1", NULL },
	{ "a b", NULL },
};

static void policy_spellings(void **state)
{
	char longest[2048];

	for (size_t i = 0; i < ARRAY_SIZE(policy); i++) {
		char ret[HOSTNAME_MAX + 1] = "untouched";
		int r = hostname_canonical_idn(policy[i].text, ret);

		if ((r == 0) != (policy[i].canonical != NULL))
			fail_msg("\"%s\": %d \"%s\"", policy[i].text, r, ret);
		assert_string_equal(ret, policy[i].canonical ? policy[i].canonical : "untouched");
	}
	memset(longest, 0xc3, sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_not_equal(hostname_canonical_idn(longest, (char[HOSTNAME_MAX + 1]){ 0 }), 0);
}

static void below(void **state)
{
	assert_true(hostname_is_below("a.example.com", "example.com"));
	assert_true(hostname_is_below("b.a.example.com", "example.com"));
	assert_false(hostname_is_below("example.com", "example.com"));
	assert_false(hostname_is_below("notexample.com", "example.com"));
	assert_false(hostname_is_below("example.com.evil.net", "example.com"));
	assert_false(hostname_is_below("com", "example.com"));
	assert_false(hostname_is_below(".example.com", "example.com"));
	assert_false(hostname_is_below("a.example.com", ""));
	assert_true(hostname_is_localhost("localhost"));
	assert_true(hostname_is_localhost("a.localhost"));
	assert_false(hostname_is_localhost("localhost.example"));
	assert_false(hostname_is_localhost("notlocalhost"));
}

struct split {
	const char *text;
	const char *host; /* NULL: refused */
	uint16_t port;
	bool v6;
};

static const struct split splits[] = {
	{ "ok.example:443", "ok.example", 443, false },
	{ "ok.example", "ok.example", 0, false },
	{ "OK.Example.:1", "OK.Example.", 1, false },
	{ "ok.example:65535", "ok.example", 65535, false },
	{ "192.0.2.1:80", "192.0.2.1", 80, false },
	{ "192.0.2.1", "192.0.2.1", 0, false },
	{ "[::1]:443", "::1", 443, true },
	{ "[::1]", "::1", 0, true },
	{ "[2001:DB8::1]:8443", "2001:DB8::1", 8443, true },
	{ "[::ffff:192.0.2.1]:443", "::ffff:192.0.2.1", 443, true },
	{ "", NULL, 0, false },
	{ ":", NULL, 0, false },
	{ ":443", NULL, 0, false },
	{ "host:", NULL, 0, false },
	{ "host:0", NULL, 0, false },
	{ "host:00", NULL, 0, false },
	{ "host:080", NULL, 0, false },
	{ "host:65536", NULL, 0, false },
	{ "host:99999999999999999999", NULL, 0, false },
	{ "host:+80", NULL, 0, false },
	{ "host:-80", NULL, 0, false },
	{ "host: 80", NULL, 0, false },
	{ "host:80 ", NULL, 0, false },
	{ "host :80", NULL, 0, false },
	{ "host:0x50", NULL, 0, false },
	{ "host:80:80", NULL, 0, false },
	{ "host:http", NULL, 0, false },
	{ "::1:443", NULL, 0, false },
	{ "::1", NULL, 0, false },
	{ "2001:db8::1:443", NULL, 0, false },
	{ "[::1%25lo]:443", NULL, 0, false },
	{ "[fe80::1%lo]:443", NULL, 0, false },
	{ "[v1.x]:443", NULL, 0, false },
	{ "[]:443", NULL, 0, false },
	{ "[", NULL, 0, false },
	{ "[::1", NULL, 0, false },
	{ "[::1]443", NULL, 0, false },
	{ "[::1]x:443", NULL, 0, false },
	{ "[::1]:", NULL, 0, false },
	{ "[::1]:0", NULL, 0, false },
	{ "[[::1]]:443", NULL, 0, false },
	{ "[ok.example]:443", NULL, 0, false },
	{ "[192.0.2.1]:443", NULL, 0, false },
	{ "x[::1]:443", NULL, 0, false },
	{ "user@host:443", NULL, 0, false },
	{ "user:pass@host:443", NULL, 0, false },
	{ "host/path:443", NULL, 0, false },
	{ "host?q", NULL, 0, false },
	{ "host#f", NULL, 0, false },
	{ "host\\x", NULL, 0, false },
	{ "host%2e:443", NULL, 0, false },
	{ "host\r\n:443", NULL, 0, false },
	{ "https://host", NULL, 0, false },
};

static void split_port(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(splits); i++) {
		const struct split *s = &splits[i];
		const char *host = NULL;
		size_t len = 0;
		bool v6 = false;
		uint16_t port = 7;
		int r = hostname_split_port(s->text, strlen(s->text), &host, &len, &v6, &port);

		if ((r == 0) != (s->host != NULL))
			fail_msg("\"%s\": %d", s->text, r);
		if (!s->host) {
			assert_null(host);
			assert_int_equal(port, 7);
			continue;
		}
		assert_int_equal(len, strlen(s->host));
		assert_memory_equal(host, s->host, len);
		assert_int_equal(port, s->port);
		assert_int_equal(v6, s->v6);
	}
	assert_int_not_equal(hostname_split_port("a\0b:80", 6, &(const char *){ NULL }, &(size_t){ 0 }, &(bool){ 0 },
						 &(uint16_t){ 0 }),
			     0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_spellings),   cmocka_unit_test(every_byte), cmocka_unit_test(canonical_is_stable),
		cmocka_unit_test(policy_spellings), cmocka_unit_test(below),      cmocka_unit_test(split_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
