#ifndef ISOD_SESSION_PORTS_H
#define ISOD_SESSION_PORTS_H
/*
 * Ports of one loopback, the host's or the session's, that lead to the other one. The far end is reached on 127.0.0.1,
 * and where nobody listens there on ::1.
 *
 *   in    Who connects must be the session's own user or root, for every user of a machine reaches its loopback. The
 *         far end is a socket of the session's namespace, which pid 1 makes (LINK_SOCKET).
 *   out   The far end is a socket of this process, in the host's namespace. pid 1 says which program connected.
 */
#include <stdint.h>
#include <uv.h>

struct events;
struct link;
struct ports;

/* uid: the session's. link and events must outlive it. 0 or -errno. */
int ports_open(uv_loop_t *loop, uint32_t uid, struct events *events, struct link *link, struct ports **ret);
/* way: enum plan_port_way. Takes listener over, also on failure. 0 or -errno; -E2BIG past two listeners for each of
 * LIMIT_PLAN_PORTS. */
int ports_add(struct ports *p, int listener, uint32_t way, uint16_t to);
/* The answer of pid 1; fd: taken, or -errno. One to no open question is closed: whoever asked is gone. p: or NULL. */
void ports_socket(struct ports *p, uint32_t query, int fd);
/* What the program had sent before its end is handed on as far as it fits. Freed once its handles are closed: run the
 * loop after. NULL is allowed. */
void ports_close(struct ports *p);

#endif
