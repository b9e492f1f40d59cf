#ifndef ISOD_SESSION_PUBLISH_H
#define ISOD_SESSION_PUBLISH_H
/*
 * Ways in: ports of the host's loopback that lead to ports of the session. Who connects must be the session's own user
 * or root, for every user of a machine reaches its loopback. The other end is a socket of the session's namespace,
 * which pid 1 makes (LINK_SOCKET): inside 127.0.0.1 is tried, then ::1.
 */
#include <stdint.h>
#include <uv.h>

struct events;
struct link;
struct publish;

/* uid: the session's. link and events must outlive it. 0 or -errno. */
int publish_open(uv_loop_t *loop, uint32_t uid, struct events *events, struct link *link, struct publish **ret);
/* Takes listener over, also on failure. 0 or -errno; -E2BIG past two listeners for each of LIMIT_PUBLISHED_PORTS. */
int publish_add(struct publish *p, int listener, uint16_t inside);
/* The answer of pid 1; fd: taken, or -errno. One to no open question is closed: whoever asked is gone. p: or NULL. */
void publish_socket(struct publish *p, uint32_t query, int fd);
/* What the program had sent before its end is handed on as far as it fits. Freed once its handles are closed: run the
 * loop after. NULL is allowed. */
void publish_close(struct publish *p);

#endif
