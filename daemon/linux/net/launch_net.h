#ifndef ISOD_LINUX_LAUNCH_NET_H
#define ISOD_LINUX_LAUNCH_NET_H
/*
 * Stage "network": pid 1 in the new network namespace, as root.
 *   keeps      CAP_NET_ADMIN over that namespace, until the rights of pid 1 are given up.
 *   gives up   nothing yet; the sockets go to isod-session and are closed here.
 *   must not   make any link but lo, nor a route that leads out.
 */
#include <stddef.h>
#include <stdint.h>

#include "daemon/launch/launch.h"

/* lo is up, and every address of both families is local: a packet can end here only. */
int launch_net_loopback(struct launch *l, struct error *e);
/* Unprivileged programs may bind every port of this namespace. */
int launch_net_sysctl(struct launch *l, struct error *e);
/* The nftables batch of LAUNCH_FD_RULESET, every answer read. */
int launch_net_ruleset(struct launch *l, struct error *e);
/* The sockets of enum link_listener, made here and sent over the link. */
int launch_net_listeners(struct launch *l, struct error *e);

/*
 * Sends netlink messages (one or more, complete) over a new socket of that protocol and reads the answers. 0 where the
 * kernel refused none and acknowledged as many as asked to be; -errno, *ret_index (may be NULL) the refused message.
 */
int launch_netlink_send(int protocol, const void *data, size_t len, unsigned *ret_index);

/* How many messages the bytes hold; -EBADMSG where they are not whole messages. */
int launch_netlink_count(const void *data, size_t len, unsigned *ret_acks);

#endif
