#ifndef ISOD_LAUNCH_JOIN_H
#define ISOD_LAUNCH_JOIN_H
/*
 * isod-launch for `isoctl exec`: one more command in a session that runs. It enters the namespaces of pid 1 and forks
 * the command, which goes through the steps of the program's side (launch_program.c). It stays in the host's pid
 * namespace and waits: the command is its child, so that the exit status is known, and ends with the session's pid
 * namespace. What the command leaves behind falls to the session's pid 1.
 */
#include "daemon/launch/launch.h"

/* What of a start is not in its plan, for who joins later. */
struct launch_kept {
	uint32_t n_groups;
	uint32_t groups[LAUNCH_GROUPS_MAX];
};

/* Step of pid 1, once it needs the descriptors of plan and context no more: puts LAUNCH_KEPT_ in their place. */
int launch_join_keep(struct launch *l, struct error *e);

int launch_join_main(struct launch *l);

#endif
