#ifndef ISOD_CONTROL_RIGHTS_H
#define ISOD_CONTROL_RIGHTS_H
/*
 * How isod-control gives up its rights, in two stages; each is verified, and failure is fatal for the caller.
 *
 *   rights_drop     from root to the control user: no group, no capability in any set, no new privileges, not
 *                   dumpable. Before anything is read.
 *   rights_confine  once everything is open: writes only below the audit folder (Landlock, where the kernel has it), no
 *                   exec, no namespace, mount, ptrace, module or raw network call (seccomp). Reading stays open, since
 *                   the user database may be anywhere.
 */
#include <sys/types.h>

#include "base/error.h"

/* uid and gid must not be 0. A process that has the ids already needs no rights. 0 or -errno with *e. */
int rights_drop(uid_t uid, gid_t gid, struct error *e);
/* audit_fd: the folder. */
int rights_confine(int audit_fd, struct error *e);

#endif
