#ifndef ISOD_LINUX_LAUNCH_SEARCH_H
#define ISOD_LINUX_LAUNCH_SEARCH_H
/*
 * What the patterns of the plan protect is looked for in the granted folders, breadth first, and covered or locked. No
 * symlink is walked through but that of a folder that must stay in its place. Bounded (base/limits.h): what lies beyond
 * is counted in l->n_not_searched, and opens of it must be refused later (l->late_guard), unless the plan is
 * PLAN_DEGRADED.
 */
#include "daemon/launch/launch.h"

int launch_search(struct launch *l, struct error *e);
/* Step, once it is known whether opens are refused: nothing is started where they are not and something was not seen.
 */
int launch_search_check(struct launch *l, struct error *e);

#endif
