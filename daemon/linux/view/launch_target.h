#ifndef ISOD_LINUX_LAUNCH_TARGET_H
#define ISOD_LINUX_LAUNCH_TARGET_H
/* Where the mounts of the plan lie in the view, by path. */
#include "daemon/launch/launch.h"

/* (Re)makes l->targets from the plan and the matches found so far. 0 or -ENOMEM. */
int launch_target_index(struct launch *l);

/* The target at exactly this path, the last one of several; NULL where there is none. */
struct launch_target *launch_target_at(const struct launch *l, const char *path);
/* The targets below path (not at it): the first of *ret_n neighbours, whether attached already or not. */
struct launch_target *launch_target_below(const struct launch *l, const char *path, size_t *ret_n);
/* A mount for which something may be bound at its place: not a cover, a lock, a folder or a link. */
bool launch_target_is_mount(const struct launch_target *t);
/* path is that of a grant (PLAN_GRANT) that is attached, or below one, and nothing else is mounted between. */
bool launch_target_is_granted(const struct launch *l, const char *path);
/* That grant; NULL where it is none. */
const struct launch_target *launch_target_around(const struct launch *l, const char *path);

#endif
