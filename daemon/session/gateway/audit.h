#ifndef ISOD_SESSION_GATEWAY_AUDIT_H
#define ISOD_SESSION_GATEWAY_AUDIT_H
/*
 * The audit events of one connection: one for its target, or for each run of requests to the same target. The program
 * behind the connection is asked for at accept and may be told late: events wait for it, at most 200 ms after the end.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/wire/session_wire.h"

struct connection;
struct held_event;
struct address_port;

struct audit {
	struct held_event *held; /* newest first */
	uint32_t n_held;
	uint32_t question; /* of owner_ask(), 0: none open */
	uint32_t pid;
	char *program;                 /* NULL: not known */
	uint64_t started;              /* ns, of the current target */
	uint64_t bytes_up, bytes_down; /* of its earlier exchanges */
	uint64_t count;                /* requests; 0: no target is open */
	uint32_t via;                  /* enum session_via */
	bool learned;                  /* no rule names the target, it was let through all the same */
	bool by_proxy;                 /* the upstream proxy was asked for it */
	uint8_t family;                /* dialled, 0: nothing was */
	uint8_t address[16];
};

/* to: what the program's own socket is connected to, whatever the ruleset made of it. */
void audit_open(struct connection *c, const struct sockaddr *peer, const struct address_port *to);
/* A request or connection to c->target: joins the open event where via is the same. The caller ends the old target. */
void audit_begin(struct connection *c, uint32_t via);
void audit_dialled(struct connection *c, uint8_t family, const uint8_t address[16]);
/* Adds what the relays have counted. */
void audit_count(struct connection *c);
/* Makes the event of the open target, if any. reason EGRESS_ALLOWED: it was served. */
void audit_end(struct connection *c, uint32_t reason);
/* True while it is not known yet which program this is. A short-lived one must not get its answer before: once it has
 * ended nobody can tell. */
bool audit_is_asking(const struct connection *c);
/* True where an event still waits for its program. */
bool audit_is_waiting(const struct connection *c);
/* Sends what is held as it is, takes the question back. */
void audit_done(struct connection *c);

#endif
