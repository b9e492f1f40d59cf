#ifndef ISOD_SESSION_UNIX_SOCKETS_H
#define ISOD_SESSION_UNIX_SOCKETS_H
/*
 * Unix sockets of the host's services that the session is lent. A connection that a program makes to the listener in
 * the view is joined with one to the real socket, which the connector (daemon/linux/net/launch_connector.h) makes with
 * the caller's rights: this process has none. Bytes go over, no descriptors.
 */
#include <stdint.h>
#include <uv.h>

struct events;
struct link;
struct unix_sockets;

/* connector: taken, also on failure. link and events must outlive it. 0 or -errno. */
int unix_sockets_open(uv_loop_t *loop, struct events *events, struct link *link, int connector,
		      struct unix_sockets **ret);
/* Takes listener over, also on failure. number: what the connector knows it by. 0 or -errno; -E2BIG past
 * LIMIT_UNIX_SOCKETS. */
int unix_sockets_add(struct unix_sockets *u, int listener, int32_t number, const char *path);
/* What the program had sent before its end is handed on as far as it fits. Freed once its handles are closed: run the
 * loop after. NULL is allowed. */
void unix_sockets_close(struct unix_sockets *u);

#endif
