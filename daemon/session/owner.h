#ifndef ISOD_SESSION_OWNER_H
#define ISOD_SESSION_OWNER_H
/* Which program of the session owns a TCP connection: asked of pid 1 over the link (LINK_WHO), answered later. */
#include <netinet/in.h>
#include <stdint.h>

#include "daemon/wire/session_wire.h"

struct link;

/* pid 0 and "" where it could not be told (it closed the socket, the question timed out, the link is gone). */
typedef void (*owner_fn)(void *data, uint32_t pid, const char *program);

/*
 * peer: the other end of an accepted connection, i.e. the program's own local address. Calls fn exactly once, from the
 * loop, never from within this call. Returns a handle for owner_forget() (the caller goes away earlier), 0 when full.
 */
uint32_t owner_ask(struct link *l, const struct sockaddr *peer, owner_fn fn, void *data);
void owner_forget(struct link *l, uint32_t handle);

#endif
