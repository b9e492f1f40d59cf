#include "daemon/linux/view/launch_search_bound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/launch/launch_step.h"

/* Where opens are not refused later, all must be seen now. Without nesting they may be yet:
 * launch_search_bound_check().
 */
static bool must_see_all(const struct launch *l)
{
	return !l->late_guard && !(l->plan.flags & PLAN_DEGRADED) && l->plan.flags & PLAN_NESTING;
}

static int not_searched(const struct launch *l, struct error *e)
{
	/* The path last: it may be cut. */
	return launch_step_fail(e, l->unsearched_err, "Remove that folder, or deny it, or allow less.",
				"What the rules protect cannot be looked for (%s) in %s.", strerror(l->unsearched_err),
				l->unsearched);
}

static int too_many(const struct launch *l, struct error *e)
{
	if (l->unsearched)
		return not_searched(l, e);
	return launch_step_fail(
		e, E2BIG, "Remove files, deny whole folders instead of single files, or allow less.",
		"More than %d files, or %d that the rules protect, are granted: they cannot all be found.",
		LIMIT_SEARCH, LIMIT_COVERS);
}

int launch_search_bound_skipped(const struct launch *l, struct error *e)
{
	return must_see_all(l) ? not_searched(l, e) : 0;
}

void launch_search_bound_moving(struct launch *l)
{
	l->n_not_searched++;
	if (l->unsearched)
		return;
	/* Without memory it is told as too many files. */
	l->unsearched = strdup("folders that are moved all the time");
	l->unsearched_err = EAGAIN;
}

int launch_search_bound_found(const struct launch *l, struct error *e)
{
	if (l->plan.flags & PLAN_DEGRADED)
		return 0;
	if (l->n_not_kept > 0 && !l->search_guard)
		return too_many(l, e);
	return l->n_not_searched > 0 && must_see_all(l) ? too_many(l, e) : 0;
}

int launch_search_bound_check(struct launch *l, struct error *e)
{
	if (l->n_not_searched == 0 || l->late_guard || l->plan.flags & PLAN_DEGRADED)
		return 0;
	return too_many(l, e);
}
