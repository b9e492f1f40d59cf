#ifndef ISOD_SESSION_NFLOG_H
#define ISOD_SESSION_NFLOG_H
/* Packets that the session's ruleset refused, as the kernel logs them (NFNETLINK_LOG). */
#include <uv.h>

#include "daemon/wire/session_wire.h"

struct nflog;
struct events;

/* Takes over the netlink socket. events must outlive it. 0 or -errno. */
int nflog_open(uv_loop_t *loop, int fd, struct events *events, struct nflog **ret);
/* Freed once all handles are closed. NULL is allowed. */
void nflog_close(struct nflog *n);

#endif
