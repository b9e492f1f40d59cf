/* Names that exist only because something below them is allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/egress.h"

static const struct egress_rule rules[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "ok.example" },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "wild.example" },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "deep.wild.example", .port = 9000 },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "evil.wild.example", .deny = 1 },
	{ .kind = EGRESS_RULE_HOST, .name = "a.evil.wild.example", .deny = 1 },
	{ .kind = EGRESS_RULE_HOST, .name = "other.example", .deny = 1 },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "both.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "both.example" },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 32, .address = { 8, 8, 8, 8 } },
};

static void below(void **state)
{
	static const char *const yes[] = { "example", "wild.example", "deep.wild.example", "both.example" };
	static const char *const no[] = { "ok.example",
					  "k.example",
					  "ild.example",
					  "a.wild.example",
					  "evil.wild.example",
					  "xample",
					  "other.example",
					  "net",
					  "zzz",
					  "a" };
	struct egress_rule copy[ARRAY_SIZE(rules)];
	struct egress_rules r = { .rules = copy, .n_rules = ARRAY_SIZE(rules) }, none = { 0 };
	char longest[256];

	memcpy(copy, rules, sizeof(rules));
	assert_false(egress_has_below(&r, "example")); /* not prepared */
	assert_int_equal(egress_rules_prepare(&r), 0);
	assert_int_equal(egress_rules_prepare(&none), 0);
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!egress_has_below(&r, yes[i]))
			fail_msg("%s: nothing below", yes[i]);
		assert_false(egress_has_below(&none, yes[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		if (egress_has_below(&r, no[i]))
			fail_msg("%s: something below", no[i]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_false(egress_has_below(&r, longest + 2));
	assert_false(egress_has_below(&r, longest));
	free(r.by_name);
	free(none.by_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(below) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
