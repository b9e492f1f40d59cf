/* Whether a session may start of which not all was seen. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/linux/view/launch_search_bound.h"

/* What is beyond the bound: in folders that can be written to (kept), or in others. */
static void what_was_not_seen(void **state)
{
	static const struct {
		size_t kept, searched;
		bool search_guard, late_guard, nesting, degraded;
		bool starts_on; /* after the search */
		bool starts;    /* when it is known whether opens are refused */
	} table[] = {
		{ 0, 0, false, false, false, false, true, true },
		/* locks that were not made: only a guard of all of it makes up for them */
		{ 1, 0, true, true, false, false, true, true },
		{ 1, 0, false, true, false, false, false, false },
		{ 1, 0, false, true, true, false, false, false },
		{ 1, 0, false, false, false, true, true, true },
		/* secrets: opens may be refused by a later step, unless nesting escapes it */
		{ 0, 1, true, true, true, false, true, true },
		{ 0, 1, false, true, true, false, true, true },
		{ 0, 1, false, false, false, false, true, false },
		{ 0, 1, false, false, true, false, false, false },
		{ 0, 1, false, false, true, true, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct launch l = LAUNCH_INIT;
		struct error e = ERROR_INIT;
		int r;

		l.n_not_kept = table[i].kept;
		l.n_not_searched = table[i].searched;
		l.search_guard = table[i].search_guard;
		l.late_guard = table[i].late_guard;
		l.plan.flags = (table[i].nesting ? PLAN_NESTING : 0) | (table[i].degraded ? PLAN_DEGRADED : 0);
		r = launch_search_bound_found(&l, &e);
		if ((r == 0) != table[i].starts_on)
			fail_msg("row %zu: found %d", i, r);
		if (r == 0)
			r = launch_search_bound_check(&l, &e);
		if ((r == 0) != table[i].starts)
			fail_msg("row %zu: check %d", i, r);
		assert_int_equal(e.code != ERROR_NONE, r < 0);
	}
}

/* Folders that are moved all the time count as not searched. */
static void what_is_moved_all_the_time(void **state)
{
	struct launch l = LAUNCH_INIT;
	struct error e = ERROR_INIT;

	launch_search_bound_moving(&l);
	launch_search_bound_moving(&l);
	assert_int_equal(l.n_not_searched, 2);
	assert_true(launch_search_bound_check(&l, &e) < 0);
	assert_non_null(strstr(e.message, "moved all the time"));
	l.late_guard = true;
	assert_int_equal(launch_search_bound_check(&l, &e), 0);
	free(l.unsearched);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_was_not_seen),
					    cmocka_unit_test(what_is_moved_all_the_time) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
