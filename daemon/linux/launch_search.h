#ifndef ISOD_LINUX_LAUNCH_SEARCH_H
#define ISOD_LINUX_LAUNCH_SEARCH_H
/*
 * What the patterns of the plan protect is looked for in the granted folders, breadth first, and covered or locked. No
 * symlink is walked through but that of a folder that must stay in its place. Bounded (base/limits.h): with
 * l->late_guard what lies beyond is counted in l->n_not_searched; without it nothing is started, unless the plan is
 * PLAN_DEGRADED.
 */
#include "daemon/launch/launch.h"

int launch_search(struct launch *l, struct error *e);

#endif
