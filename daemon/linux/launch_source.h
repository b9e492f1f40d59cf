#ifndef ISOD_LINUX_LAUNCH_SOURCE_H
#define ISOD_LINUX_LAUNCH_SOURCE_H
/* Steps of the outer process that turn the plan's sources into detached mounts, held by descriptor. */
#include "daemon/launch/launch.h"

/* Opens every source of a bind mount, O_PATH, with the rights of the caller. Ends with root's again. */
int launch_source_open(struct launch *l, struct error *e);
/* Clones each into a detached tree and sets its flags there: it is never visible without them. */
int launch_source_clone(struct launch *l, struct error *e);
/* Makes the session's own folders on disk. */
int launch_source_scratch(struct launch *l, struct error *e);
/* What pid 1 needs of the host besides; then everything else of it is closed. */
int launch_source_own(struct launch *l, struct error *e);

/* True for file systems of which a second view must never be lent: proc, sysfs, cgroup, devpts and the like. magic:
 * statfs.f_type. */
bool launch_source_is_special(uint64_t magic);
/* The same by the name that mountinfo gives. */
bool launch_source_is_special_type(const char *type);

#endif
