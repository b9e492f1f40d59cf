#ifndef ISOD_LINUX_LAUNCH_LATE_MOUNTS_H
#define ISOD_LINUX_LAUNCH_LATE_MOUNTS_H
/* On which mounts of the view an open has to be asked about. */
#include <stdbool.h>

#include "daemon/wire/plan.h"

/* Could a rule that denies reading be about something below folder, or folder itself? */
bool launch_late_mounts_concern(const struct plan *plan, const char *folder);
/* Is the mount point at or below a place that the plan grants of the user's own? */
bool launch_late_mounts_granted(const struct plan *plan, const char *point);

/*
 * Calls fn for every mount of the namespace that proc (a procfs) shows and for which both are true; text: the mount
 * point. Stops at the first negative answer. 0 or -errno.
 */
int launch_late_mounts_each(int proc, const struct plan *plan, int (*fn)(void *data, const char *point), void *data);

#endif
