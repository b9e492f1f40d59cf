/* Buckets of tokens, and the hosts they are kept for, under a clock of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/session/gateway/hosts.h"

/* Tokens that can be had at this time. */
static unsigned drain(struct rate *r, uint32_t per_second, uint64_t now)
{
	uint64_t wait;
	unsigned n = 0;

	while (n < 5000 && rate_take(r, per_second, now, &wait))
		n++;
	return n;
}

static void so_many_at_once_and_a_second(void **state)
{
	static const uint32_t rates[] = { 1, 2, 3, 7, 10, 999, 1000, 2000 };

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		uint32_t n = rates[i];
		uint64_t now = 5 * RATE_SECOND, token = RATE_SECOND / n;
		struct rate r = { 0 };

		assert_int_equal(drain(&r, n, now), n);
		/* Parts of a nanosecond are not counted. */
		assert_int_equal(drain(&r, n, now + token - n), 0);
		assert_int_equal(drain(&r, n, now + token), 1);
		assert_int_equal(drain(&r, n, now + 3 * token), n == 1 ? 1 : 2);
		assert_false(rate_is_full(&r, now + 3 * token));
		/* However long it waits there are never more than n. */
		assert_int_equal(drain(&r, n, now + 3600 * RATE_SECOND), n);
	}
}

static void how_long_to_wait(void **state)
{
	struct rate r = { 0 };
	uint64_t wait = 0;

	assert_int_equal(drain(&r, 4, RATE_SECOND), 4);
	assert_false(rate_take(&r, 4, RATE_SECOND, &wait));
	assert_int_equal(wait, RATE_SECOND / 4);
	assert_false(rate_take(&r, 4, RATE_SECOND + 100, &wait));
	assert_int_equal(wait, RATE_SECOND / 4 - 100);
	assert_true(rate_take(&r, 4, RATE_SECOND + 100 + wait, &wait));
}

static void without_a_limit(void **state)
{
	struct rate r = { 0 };

	assert_int_equal(drain(&r, 0, 0), 5000);
	assert_true(rate_is_full(&r, 0));
}

static void the_fastest(void **state)
{
	struct rate r = { 0 };
	uint64_t wait, n = 0;

	while (rate_take(&r, LIMIT_EGRESS_RATE, 1, &wait))
		n++;
	assert_int_equal(n, LIMIT_EGRESS_RATE);
}

static void hosts_are_kept_while_it_matters(void **state)
{
	struct hosts all = { .count = 0 };
	struct host *h = hosts_get(&all, "a.example", 0);
	uint64_t wait;

	h->open++;
	assert_true(rate_take(&h->rate, 1, 0, &wait));
	assert_ptr_equal(hosts_get(&all, "a.example", 0), h);
	/* Its token is not back yet: who asks again finds it. */
	hosts_release(&all, h, 10);
	assert_int_equal(all.count, 1);
	h = hosts_get(&all, "a.example", 20);
	assert_false(rate_take(&h->rate, 1, 20, &wait));
	h->open++;
	hosts_release(&all, h, RATE_SECOND);
	assert_int_equal(all.count, 0);
	hosts_done(&all);
}

static void hosts_are_bounded(void **state)
{
	struct hosts all = { .count = 0 };
	char name[32];
	uint64_t wait;

	for (int i = 0; i < HOSTS_MAX; i++) {
		struct host *h;

		snprintf(name, sizeof(name), "h%d.example", i);
		h = hosts_get(&all, name, 0);
		assert_non_null(h);
		if (i % 2)
			h->open++;
		else
			assert_true(rate_take(&h->rate, 1, 0, &wait));
	}
	assert_null(hosts_get(&all, "one.more.example", 1));
	/* A second later those that nobody is connected to are as if they had never been. */
	assert_non_null(hosts_get(&all, "one.more.example", RATE_SECOND));
	assert_true(all.count <= HOSTS_MAX);
	hosts_done(&all);
	assert_int_equal(all.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_at_once_and_a_second),
		cmocka_unit_test(how_long_to_wait),
		cmocka_unit_test(without_a_limit),
		cmocka_unit_test(the_fastest),
		cmocka_unit_test(hosts_are_kept_while_it_matters),
		cmocka_unit_test(hosts_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
