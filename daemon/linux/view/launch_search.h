#ifndef ISOD_LINUX_LAUNCH_SEARCH_H
#define ISOD_LINUX_LAUNCH_SEARCH_H
/*
 * What the patterns of the plan protect is looked for in the granted folders, breadth first, those that can be written
 * to before the others, and covered or locked. No symlink is walked through but that of a folder that must stay in its
 * place. Bounded (base/limits.h). What lies beyond is counted:
 *   l->n_not_searched  read-only folders, and those that cannot be read: opens must be refused later (l->late_guard);
 *   l->n_not_kept      where the program can write: only the late guard in the kernel can stand in for a mount
 * there, which refuses renames and writes, too (l->search_guard). A program that makes many files must not thereby take
 * the protections away in the next session. Otherwise nothing is started, unless the plan is PLAN_DEGRADED.
 */
#include "daemon/launch/launch.h"

int launch_search(struct launch *l, struct error *e);

#endif
