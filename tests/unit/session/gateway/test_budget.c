/* Accounts of bytes: what is left, what was exceeded, what a reload keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/budget.h"

enum { SESSION = 1, FIRST = 2, SECOND = 4 };

static struct egress_budget two[] = {
	{ .host = { .kind = EGRESS_RULE_HOST, .name = "a.example", .deny = 1 }, .bytes = { 100, 0 } },
	{ .host = { .kind = EGRESS_RULE_SUFFIX, .name = "a.example", .deny = 1 }, .bytes = { 50, 10 } },
};
static struct budget b;

static void open_budget(const struct egress_rules *r)
{
	memset(&b, 0, sizeof(b));
	budget_set_rules(&b, r);
}

static void the_least_is_left(void **state)
{
	const struct egress_rules r = { .budgets = two, .n_budgets = 2, .limits = { .bytes = { 120, 0 } } };

	open_budget(&r);
	assert_int_equal(b.n, 3);
	assert_string_equal(b.accounts[2].host, "*.a.example");
	assert_int_equal(budget_left(&b, SESSION, EGRESS_OUT), 120);
	assert_true(budget_left(&b, SESSION, EGRESS_IN) == UINT64_MAX);
	assert_int_equal(budget_left(&b, SESSION | FIRST | SECOND, EGRESS_OUT), 50);
	budget_take(&b, SESSION | FIRST, EGRESS_OUT, 90);
	assert_int_equal(budget_left(&b, SESSION | FIRST, EGRESS_OUT), 10);
	assert_int_equal(budget_left(&b, SESSION | SECOND, EGRESS_OUT), 30);
	assert_false(budget_is_spent(&b, SESSION | FIRST));
	budget_take(&b, SESSION | FIRST, EGRESS_OUT, 10);
	assert_int_equal(budget_left(&b, SESSION | FIRST, EGRESS_OUT), 0);
	assert_true(budget_is_spent(&b, SESSION | FIRST));
	assert_false(budget_is_spent(&b, SESSION | SECOND));
	/* Beyond the limit nothing wraps around. */
	budget_take(&b, FIRST, EGRESS_OUT, 1000);
	assert_int_equal(budget_left(&b, FIRST, EGRESS_OUT), 0);
}

/* Used up to its last byte it is not exceeded; and only that account is. */
static void exceeded_is_told_once(void **state)
{
	const struct egress_rules r = { .budgets = two, .n_budgets = 2 };

	open_budget(&r);
	budget_take(&b, SESSION | SECOND, EGRESS_IN, 10);
	assert_true(budget_is_spent(&b, SESSION | SECOND));
	assert_false(budget_is_exceeded(&b, SESSION | SECOND));
	assert_int_equal(budget_exceed(&b, SESSION | FIRST | SECOND, EGRESS_OUT), 0);
	assert_int_equal(budget_exceed(&b, SESSION | FIRST | SECOND, EGRESS_IN), SECOND);
	assert_int_equal(budget_exceed(&b, SESSION | FIRST | SECOND, EGRESS_IN), 0);
	assert_true(budget_is_exceeded(&b, SESSION | SECOND));
	assert_false(budget_is_exceeded(&b, SESSION | FIRST));
}

/* The same hosts keep what they have used, under whatever number; a larger limit opens them again. */
static void new_rules(void **state)
{
	struct egress_budget turned[] = { two[1], two[0] };
	const struct egress_rules r = { .budgets = two, .n_budgets = 2 };
	struct egress_rules next = { .budgets = turned, .n_budgets = 2, .limits = { .bytes = { 59, 0 } } };

	open_budget(&r);
	budget_take(&b, SESSION | FIRST, EGRESS_OUT, 10);
	budget_take(&b, SESSION | SECOND, EGRESS_OUT, 50);
	budget_exceed(&b, SECOND, EGRESS_OUT);
	turned[0].bytes[EGRESS_OUT] = 51;
	turned[1].bytes[EGRESS_OUT] = 9;
	budget_set_rules(&b, &next);
	assert_int_equal(b.accounts[1].used[EGRESS_OUT], 50);
	assert_int_equal(b.accounts[2].used[EGRESS_OUT], 10);
	assert_true(budget_is_exceeded(&b, SESSION));
	assert_false(budget_is_exceeded(&b, FIRST));
	assert_int_equal(budget_left(&b, FIRST, EGRESS_OUT), 1);
	assert_true(budget_is_exceeded(&b, SECOND));
	/* Of an account that was away nothing is known. */
	next.n_budgets = 0;
	budget_set_rules(&b, &next);
	next.n_budgets = 1;
	budget_set_rules(&b, &next);
	assert_int_equal(b.accounts[1].used[EGRESS_OUT], 0);
	assert_int_equal(b.accounts[0].used[EGRESS_OUT], 60);
}

static void as_many_as_there_may_be(void **state)
{
	static struct egress_budget all[LIMIT_EGRESS_BUDGETS];
	static char names[LIMIT_EGRESS_BUDGETS][16];
	const struct egress_rules r = { .budgets = all, .n_budgets = LIMIT_EGRESS_BUDGETS };
	const struct egress_target t = { .name = "h62.example", .port = 443 };

	for (int i = 0; i < LIMIT_EGRESS_BUDGETS; i++) {
		snprintf(names[i], sizeof(names[i]), "h%d.example", i);
		all[i] = (struct egress_budget){ .host = { .kind = EGRESS_RULE_HOST, .name = names[i], .deny = 1 },
						 .bytes = { 1, 1 } };
	}
	open_budget(&r);
	assert_true(egress_budget_accounts(&r, &t) == ((uint64_t)1 << 63 | 1));
	budget_take(&b, egress_budget_accounts(&r, &t), EGRESS_IN, 1);
	assert_true(budget_exceed(&b, UINT64_MAX, EGRESS_IN) == (uint64_t)1 << 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_is_left),
		cmocka_unit_test(exceeded_is_told_once),
		cmocka_unit_test(new_rules),
		cmocka_unit_test(as_many_as_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
