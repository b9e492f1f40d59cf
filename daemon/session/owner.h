#ifndef ISOD_SESSION_OWNER_H
#define ISOD_SESSION_OWNER_H
/* Which program of the session owns a connection: asked of pid 1 over the link (LINK_WHO), answered later. */
#include <netinet/in.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/wire/session_wire.h"

struct link;
struct owners;

/* pid 0 and "" where it could not be told (it closed the socket, the question timed out, the link is gone). */
typedef void (*owner_fn)(void *data, uint32_t pid, const char *program);

/*
 * peer: the other end of an accepted connection, i.e. the program's own local address; to: what the program connected
 * to, before any redirect. Calls fn exactly once, from the
 * loop, never from within this call. Returns a handle for owner_forget() (the caller goes away earlier), 0 when full.
 */
uint32_t owner_ask(struct link *l, const struct sockaddr *peer, const uint8_t to_address[16], uint16_t to_port,
		   owner_fn fn, void *data);
/* The same of a connection that a Unix socket of the view has accepted. */
uint32_t owner_ask_local(struct link *l, int connection, owner_fn fn, void *data);
void owner_forget(struct link *l, uint32_t handle);

/* Milliseconds; questions open at once. */
#define OWNER_TIMEOUT 200
#define OWNER_MAX 256

/* The link's side. owners_close() drops every question; owners_free() once the loop has run out. */
int owners_new(uv_loop_t *loop, struct owners **ret);
void owners_close(struct owners *o);
void owners_free(struct owners *o);
/* LINK_OWNER: an answer to no open question is ignored, it came too late. */
void owners_answer(struct owners *o, uint32_t query, int32_t pid, const char *text);
/* Nobody will answer any more: every open question is told so from the loop. */
void owners_fail(struct owners *o);

#endif
