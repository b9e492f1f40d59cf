#ifndef ISOD_LINUX_LAUNCH_SOURCE_H
#define ISOD_LINUX_LAUNCH_SOURCE_H
/* Steps of the outer process that turn the plan's sources into detached mounts, held by descriptor. */
#include "daemon/launch/launch.h"

/* Opens every source of a bind mount or an overlay, O_PATH, with the rights of the caller. Ends with root's
 * again. */
int launch_source_open(struct launch *l, struct error *e);
/* Clones each into a detached tree and sets its flags there: it is never visible without them. */
int launch_source_clone(struct launch *l, struct error *e);
/* Makes the session's own folders on disk. */
int launch_source_scratch(struct launch *l, struct error *e);
/* What pid 1 needs of the host besides; then everything else of it is closed. */
int launch_source_own(struct launch *l, struct error *e);

/* Refuses what lies in a file system of the kernel; path is for the message. 0 or -errno. */
int launch_source_check(int fd, const char *path, struct error *e);
/* MOUNT_ATTR_* of a mount of the plan: always nosuid, and nodev but for a device. */
uint64_t launch_source_attributes(const struct plan_mount *m);
/* Replaces a descriptor by a detached, private copy of the mount there (recursive: and of those below) with attributes
 * set. 0 or -errno. */
int launch_source_clone_tree(int *fd, bool recursive, uint64_t attributes);

/* True for file systems of which a second view must never be lent: proc, sysfs, cgroup, devpts and the like. magic:
 * statfs.f_type. */
bool launch_source_is_special(uint64_t magic);
/* The same by the name that mountinfo gives. */
bool launch_source_is_special_type(const char *type);

#endif
