#ifndef ISOD_LINUX_LAUNCH_SPAWN_H
#define ISOD_LINUX_LAUNCH_SPAWN_H
/* The birth of pid 1, and what ties its life to isod's. */
#include <sys/types.h>

#include "daemon/launch/launch.h"

/* Makes pid 1 in new namespaces of all kinds but user, time and cgroup, as a child of our own parent, and in the
 * session's control group of v2, whose descriptor is closed. Returns twice, like fork: its pid in the host's namespace,
 * and 0; or -errno with *e filled. */
pid_t launch_spawn_init(struct launch *l, struct error *e);

/* Step: a cgroup namespace. clone3() would make it of the group that we left behind. */
int launch_spawn_groups(struct launch *l, struct error *e);

/* Step: pid 1 is killed when isod's process ends. Repeated by launch_spawn_tie_again() after each change of ids, which
 * makes the kernel forget it. */
int launch_spawn_tie(struct launch *l, struct error *e);
int launch_spawn_tie_again(void);

/* Step: a session keyring of its own, so that isod's is not possessed by the program. */
int launch_spawn_keyring(struct launch *l, struct error *e);

#endif
