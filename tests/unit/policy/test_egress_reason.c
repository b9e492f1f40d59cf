/* What is said about a refusal: reasons, hints, rules as text, the texts of deny rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/egress.h"

static void names_lead_back(void **state)
{
	for (uint32_t i = 0; i < EGRESS_REASON_COUNT; i++)
		assert_int_equal(egress_reason_from_name(egress_reason_name(i)), i);
	assert_int_equal(egress_reason_from_name("unknown"), EGRESS_REASON_COUNT);
	assert_int_equal(egress_reason_from_name(""), EGRESS_REASON_COUNT);
	assert_true(egress_reason_passes(EGRESS_UNREACHABLE));
	assert_false(egress_reason_passes(EGRESS_NOT_LISTED));
	assert_false(egress_reason_passes(EGRESS_DENIED));
	assert_false(egress_reason_passes(EGRESS_REASON_COUNT));
}

static void hints(void **state)
{
	static const struct {
		uint32_t reason;
		const char *host;
		uint16_t port;
		const char *hint;
	} cases[] = {
		{ EGRESS_NOT_LISTED, "a.example", 443, "To allow it: X --allow-domain a.example" },
		{ EGRESS_NOT_LISTED, "a.example", 80, "To allow it: X --allow-domain a.example" },
		{ EGRESS_NOT_LISTED, "a.example", 22, "To allow it: X --allow-domain a.example:22" },
		{ EGRESS_NOT_LISTED, "", 0, "" },
		{ EGRESS_ADDRESS_LITERAL, "192.0.2.1", 443, "To allow it: X --allow-domain 192.0.2.1" },
		{ EGRESS_ADDRESS_LITERAL, "2001:db8::1", 443, "To allow it: X --allow-domain '[2001:db8::1]'" },
		{ EGRESS_PRIVATE_ADDRESS, "10.0.0.1", 5432, "To allow it: X --allow-domain 10.0.0.1:5432" },
		{ EGRESS_PRIVATE_ADDRESS, "db.example", 5432,
		  "To allow it: a rule for the address itself, X --allow-domain ADDRESS:5432" },
		{ EGRESS_PRIVATE_ADDRESS, "a.example", 443,
		  "To allow it: a rule for the address itself, X --allow-domain ADDRESS" },
		{ EGRESS_BAD_TLS, "a.example", 443, "" },
		{ EGRESS_REASON_COUNT, "a.example", 443, "" },
	};
	char longest[254], hint[EGRESS_HINT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		egress_reason_hint(cases[i].reason, "X", cases[i].host, cases[i].port, hint);
		assert_string_equal(hint, cases[i].hint);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (uint32_t i = 0; i < EGRESS_REASON_COUNT; i++) {
		egress_reason_hint(i, "isoctl gateway", longest, 65535, hint);
		assert_true(strlen(hint) < EGRESS_HINT_MAX - 1);
		assert_null(strpbrk(hint, "\r\n"));
	}
}

static void rules_as_text(void **state)
{
	static const struct {
		struct egress_rule rule;
		const char *text;
	} cases[] = {
		{ { .kind = EGRESS_RULE_HOST, .name = "a.example" }, "a.example" },
		{ { .kind = EGRESS_RULE_SUFFIX, .name = "a.example", .port = 8443 }, "*.a.example:8443" },
		{ { .kind = EGRESS_RULE_ADDRESS,
		    .family = AF_INET,
		    .bits = 32,
		    .address = { 10, 0, 0, 1 },
		    .port = 22 },
		  "10.0.0.1:22" },
		{ { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10 } }, "10.0.0.0/8" },
		{ { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = 128, .address = { [15] = 1 }, .port = 80 },
		  "[::1]:80" },
		{ { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = 32, .address = { 0x20, 1, 0xd, 0xb8 } },
		  "2001:db8::/32" },
	};
	char text[EGRESS_RULE_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		egress_rule_format(&cases[i].rule, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void texts_for_users(void **state)
{
	static const char *const good[] = { "x", "Use the mirror.", "M\xc3\xbcnchen \xe2\x80\x94 \xf0\x9f\x9a\xab",
					    "\xef\xbf\xbd" };
	static const char *const bad[] = {
		"",
		" ",
		"a\nb",
		"a\tb",
		"a\x1b[2J",
		"a\x7f",
		"\xc2\x9b",         /* CSI of eight bits */
		"a\xc2\xa0",        /* a blank that is none */
		"\xe2\x80\xaez",    /* right to left */
		"a\xe2\x80\x8b",    /* no width */
		"a\xe2\x80\xa8",    /* line separator */
		"\xf3\xa0\x81\xa1", /* a tag */
		"\xc0\xaf",         /* not the shortest */
		"\xe0\x80\xaf",
		"\xed\xa0\x80", /* half of a pair */
		"\xf4\x90\x80\x80",
		"\xff",
		"a\xc3",
		"a\x80",
	};
	char text[LIMIT_DENY_REASON + 2];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!egress_why_is_valid(good[i]))
			fail_msg("good[%zu]", i);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (egress_why_is_valid(bad[i]))
			fail_msg("bad[%zu]", i);
	memset(text, 'x', sizeof(text));
	text[LIMIT_DENY_REASON + 1] = '\0';
	assert_false(egress_why_is_valid(text));
	text[LIMIT_DENY_REASON] = '\0';
	assert_true(egress_why_is_valid(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_back),
		cmocka_unit_test(hints),
		cmocka_unit_test(rules_as_text),
		cmocka_unit_test(texts_for_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
