/* Rules for one connection: who has it, when it is spent, and what else allows comes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/egress.h"

static struct egress_verdict decide(const struct egress_rules *r, const char *name, uint16_t port, uint32_t holds)
{
	const struct egress_target t = { .name = name, .port = port, .holds = holds };
	struct egress_verdict v;

	egress_decide(r, &t, &v);
	return v;
}

static void one_connection(void **state)
{
	struct egress_rule rules[] = {
		{ .kind = EGRESS_RULE_HOST, .name = "once.example", .port = 443, .once = 7 },
		{ .kind = EGRESS_RULE_HOST, .name = "other.example" },
	};
	struct egress_rules r = { .rules = rules, .n_rules = ARRAY_SIZE(rules) };
	struct egress_verdict v;

	assert_int_equal(egress_rules_prepare(&r), 0);
	v = decide(&r, "once.example", 443, 0);
	assert_int_equal(v.reason, EGRESS_ALLOWED);
	assert_int_equal(v.rule, 0);
	assert_int_equal(decide(&r, "once.example", 80, 0).reason, EGRESS_PORT);
	egress_decide_dns(&r, "once.example", &v);
	assert_true(v.allowed);
	egress_rule_spend(&r, 1);
	assert_false(rules[1].spent);
	egress_rule_spend(&r, 0);
	assert_int_equal(decide(&r, "once.example", 443, 0).reason, EGRESS_NOT_LISTED);
	assert_int_equal(decide(&r, "once.example", 80, 0).reason, EGRESS_NOT_LISTED);
	assert_int_equal(decide(&r, "once.example", 443, 8).reason, EGRESS_NOT_LISTED);
	assert_int_equal(decide(&r, "once.example", 443, 7).reason, EGRESS_ALLOWED);
	egress_decide_dns(&r, "once.example", &v);
	assert_false(v.allowed);
	free(r.by_name);
}

/* In whatever order they come, and however they name the host. */
static void others_come_first(void **state)
{
	static const struct egress_rule all[] = {
		{ .kind = EGRESS_RULE_HOST, .name = "a.example", .port = 443, .once = 1 },
		{ .kind = EGRESS_RULE_HOST, .name = "a.example", .port = 443, .once = 2 },
		{ .kind = EGRESS_RULE_SUFFIX, .name = "a.example", .port = 443, .once = 3 },
		{ .kind = EGRESS_RULE_SUFFIX, .name = "example.net" },
		{ .kind = EGRESS_RULE_HOST, .name = "b.example.net", .port = 443, .once = 4 },
		{ .kind = EGRESS_RULE_HOST, .name = "no.example", .port = 443, .once = 5 },
		{ .kind = EGRESS_RULE_HOST, .name = "no.example", .deny = 1 },
	};
	enum { N = ARRAY_SIZE(all) };

	for (unsigned turn = 0; turn < N; turn++) {
		struct egress_rule rules[N];
		struct egress_rules r = { .rules = rules, .n_rules = N };
		struct egress_verdict v;

		for (unsigned i = 0; i < N; i++)
			rules[i] = all[(i + turn) % N];
		assert_int_equal(egress_rules_prepare(&r), 0);
		v = decide(&r, "b.example.net", 443, 0);
		assert_int_equal(v.reason, EGRESS_ALLOWED);
		assert_int_equal(rules[v.rule].once, 0);
		assert_int_equal(decide(&r, "no.example", 443, 0).reason, EGRESS_DENIED);
		assert_int_equal(decide(&r, "no.example", 443, 5).reason, EGRESS_DENIED);
		for (uint32_t k = 1; k <= 2; k++) {
			v = decide(&r, "a.example", 443, 0);
			assert_int_equal(rules[v.rule].once, k);
			egress_rule_spend(&r, v.rule);
		}
		assert_int_equal(decide(&r, "a.example", 443, 0).reason, EGRESS_NOT_LISTED);
		assert_int_equal(rules[decide(&r, "x.a.example", 443, 0).rule].once, 3);
		free(r.by_name);
	}
}

/* A literal, and never the address that a name leads to. */
static void addresses(void **state)
{
	struct egress_rule rules[] = {
		{ .kind = EGRESS_RULE_ADDRESS,
		  .family = AF_INET,
		  .bits = 32,
		  .port = 443,
		  .address = { 10, 1, 2, 3 },
		  .once = 9 },
		{ .kind = EGRESS_RULE_HOST, .name = "ok.example" },
	};
	struct egress_rules r = { .rules = rules, .n_rules = ARRAY_SIZE(rules) };
	struct egress_target t = { .family = AF_INET, .address = { 10, 1, 2, 3 }, .port = 443 };
	struct egress_verdict v;

	assert_int_equal(egress_rules_prepare(&r), 0);
	egress_decide_address(&r, "ok.example", AF_INET, t.address, 443, &v);
	assert_int_equal(v.reason, EGRESS_PRIVATE_ADDRESS);
	egress_decide(&r, &t, &v);
	assert_int_equal(v.reason, EGRESS_ALLOWED);
	egress_rule_spend(&r, v.rule);
	egress_decide(&r, &t, &v);
	assert_int_equal(v.reason, EGRESS_PRIVATE_ADDRESS);
	t.holds = 9;
	egress_decide(&r, &t, &v);
	assert_int_equal(v.reason, EGRESS_ALLOWED);
	free(r.by_name);
}

static void new_rules(void **state)
{
	struct egress_rule before[] = {
		{ .kind = EGRESS_RULE_HOST, .name = "a.example", .once = 1, .spent = true },
		{ .kind = EGRESS_RULE_HOST, .name = "b.example", .once = 2 },
		{ .kind = EGRESS_RULE_HOST, .name = "c.example", .once = 3, .spent = true },
	};
	struct egress_rule after[] = {
		{ .kind = EGRESS_RULE_HOST, .name = "b.example", .once = 2 },
		{ .kind = EGRESS_RULE_HOST, .name = "c.example", .once = 4 }, /* granted once more */
		{ .kind = EGRESS_RULE_HOST, .name = "a.example", .once = 1 },
		{ .kind = EGRESS_RULE_HOST, .name = "d.example" },
	};
	const struct egress_rules old = { .rules = before, .n_rules = ARRAY_SIZE(before) };
	struct egress_rules r = { .rules = after, .n_rules = ARRAY_SIZE(after) };

	egress_rules_keep_spent(&old, &r);
	assert_false(after[0].spent);
	assert_false(after[1].spent);
	assert_true(after[2].spent);
	assert_false(after[3].spent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_connection),
		cmocka_unit_test(others_come_first),
		cmocka_unit_test(addresses),
		cmocka_unit_test(new_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
