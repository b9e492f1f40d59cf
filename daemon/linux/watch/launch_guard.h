#ifndef ISOD_LINUX_LAUNCH_GUARD_H
#define ISOD_LINUX_LAUNCH_GUARD_H
/*
 * The late guard in the kernel, for this session: opens, new names and renames below the granted folders are judged by
 * name there (late_hooks.bpf.c), for every process of the session's pid namespace and those inside it, pid 1 included.
 * Only where isod has seen it work (LAUNCH_HAS_LATE); there l->guard is set, and else nothing happens.
 */
#include "daemon/launch/launch.h"

/* Step, root, when the view is mounted: puts the rules in the guard's form and makes sure of room for them. Sets
 * l->late_guard where no secret can be read that is only beyond the bound of the search, l->lock_guard where nothing
 * can be written there that must not be; where that is required (PLAN_PLANTS_REQUIRED) and is not so, -EOPNOTSUPP. */
int launch_guard_prepare(struct launch *l, struct error *e);
/* Step, root, the last thing before the program's process is made: from here on it refuses. */
int launch_guard_begin(struct launch *l, struct error *e);

/* It is there, and no rule that denies is left for another way. */
bool launch_guard_is_whole(const struct launch *l);
/* The same for the rules that deny reading alone. */
bool launch_guard_keeps_secrets(const struct launch *l);
/* The pattern of the first rule that denies reading and is left for another way; NULL = there is none. */
const char *launch_guard_first_left(const struct launch *l);

#endif
