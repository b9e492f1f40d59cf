#ifndef ISOD_LINUX_NET_LAUNCH_CONNECTOR_H
#define ISOD_LINUX_NET_LAUNCH_CONNECTOR_H
/*
 * The connector: of sessions that are lent Unix sockets of the host, the one process that connects to them.
 *   keeps      the caller's uid, gid and groups as its own, real ones: what the service sees (SO_PEERCRED) and what
 *              the kernel asks; the host's view of the files, so that a service that starts anew is found again.
 *   gives up   every capability, every descriptor but one, all system calls but those that it needs.
 *   must not   open a path that is not in the plan, or read or write what it has connected to.
 * It ends with the other end of its socket, which is isod-session's.
 */
#include "daemon/launch/launch.h"

/* The socket of a PLAN_MAKE_SOCKET, O_PATH, with the file rights that the process has; the last component is no link,
 * and others are followed as for any grant (launch_reach.h). The descriptor or -errno; -ENOTSOCK, -ELOOP. */
int launch_connector_find(const struct launch *l, const struct plan_mount *m, struct error *e);

/* link: its end of the socket. Returns an exit status. */
int launch_connector_main(const struct launch *l, int link);

#endif
