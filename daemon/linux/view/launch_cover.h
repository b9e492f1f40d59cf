#ifndef ISOD_LINUX_LAUNCH_COVER_H
#define ISOD_LINUX_LAUNCH_COVER_H
/*
 * Mounts over what is in the view: covers, that nobody can read or write, and locks, binds of a thing onto itself. A
 * mount point can neither be renamed nor removed from inside, and in a user namespace of the program's own the kernel
 * keeps such a mount where it is.
 */
#include "daemon/launch/launch.h"

/* Step: an empty file and an empty folder, root's, mode 000, read-only; covers are copies of
 * them. launch_view_pivot() takes them off with the host's tree. */
int launch_cover_prepare(struct launch *l, struct error *e);

/* The following attach at place (O_PATH) and return the mount's id in *ret_id. 0 or -errno. */

/* traversable: an empty folder in which mount points can be made until the view is sealed; not listable. */
int launch_cover_attach(struct launch *l, int place, bool is_dir, bool traversable, uint64_t *ret_id);
/* With all that is mounted below; read_only: all of that, too. A symlink's place is possible. */
int launch_cover_lock(struct launch *l, int place, bool read_only, uint64_t *ret_id);

#endif
