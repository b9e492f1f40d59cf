#ifndef ISOD_LINUX_LAUNCH_PLACE_H
#define ISOD_LINUX_LAUNCH_PLACE_H
/*
 * Places in the view where something is mounted. A missing folder or file is made only inside mounts that belong to
 * the session alone: never in a folder of the host. No symlink is followed on the way.
 */
#include "daemon/launch/launch.h"

/* Registers a mount of the session's own; a duplicate of fd is kept. read_only: it becomes so when the view is done. */
int launch_place_own(struct launch *l, int fd, bool read_only);

/* Opens (O_PATH) the place target, a folder or a file, made where it is missing. The descriptor or -errno. */
int launch_place_open(struct launch *l, const char *target, bool is_dir, struct error *e);

/* The same for the folder that holds target; *ret_name points at the last component. */
int launch_place_parent(struct launch *l, const char *target, const char **ret_name, struct error *e);

/* The id of the mount that fd lies in, unique while it is mounted. 0 or -errno. */
int launch_place_mount_id(int fd, uint64_t *ret);

/* Holds the mount open until the late guard has marked it: by its path it need not be found then, since the host may
 * rename what lies above it, or move it out of the grant and back. 0 or -errno. */
int launch_place_hold(struct launch *l, int mount);
void launch_place_release(struct launch *l);

/* True where fd lies in a mount of the session's own. */
bool launch_place_is_own(const struct launch *l, int fd);

#endif
