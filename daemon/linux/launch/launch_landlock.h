#ifndef ISOD_LINUX_LAUNCH_LANDLOCK_H
#define ISOD_LINUX_LAUNCH_LANDLOCK_H
/*
 * A second wall behind the mounts: what the plan has as read-only stays so even where a mount flag were lost, and
 * nothing outside the program's own domain can be signalled, traced or reached by an abstract socket.
 */
#include "daemon/launch/launch.h"

/* Step of pid 1: makes l->ruleset_fd from the plan, with the rights that this kernel's ABI knows. Nothing with
 * process.nesting (a domain forbids every mount) or where isod found no Landlock. */
int launch_landlock_prepare(struct launch *l, struct error *e);
/* Step of the program: enters the domain. */
int launch_landlock_enter(struct launch *l, struct error *e);

/* Rights over files of an ABI, 0 for one that cannot be used (the first does not allow a rename between folders). */
uint64_t launch_landlock_rights(int abi);

#endif
