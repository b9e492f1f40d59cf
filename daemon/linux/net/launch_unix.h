#ifndef ISOD_LINUX_NET_LAUNCH_UNIX_H
#define ISOD_LINUX_NET_LAUNCH_UNIX_H
/* Unix sockets of the host's services that a session may connect to: a listener in the view at each one's path, served
 * by isod-session, and a process outside that connects to the real one as the caller (launch_connector.h). */
#include "daemon/launch/launch.h"

/* Outer process, after launch_target_index(): refuses what is there and is no socket, or is reached by a link of
 * others; then starts the connector and hands isod-session the other end (LINK_CONNECTOR). Nothing without a
 * PLAN_MAKE_SOCKET. What is not there yet may come. */
int launch_unix_begin(struct launch *l, struct error *e);

/* pid 1: makes the listener for a PLAN_MAKE_SOCKET and hands it over (LINK_UNIX). In a granted folder, which is the
 * host's, there is nothing to make: the socket itself stands there unless a rule denies it. */
int launch_unix_make(struct launch *l, const struct plan_mount *m, struct error *e);

/* A listening stream socket, root's and open to all (0666), at path, which is at most LIMIT_UNIX_PATH - 1 bytes. The
 * descriptor or -errno. */
int launch_unix_listen(const char *path, int backlog);

#endif
