#ifndef ISOD_SESSION_PAIR_H
#define ISOD_SESSION_PAIR_H
/* Two connected sockets: what comes from one goes to the other, both ways, until both have ended. Bytes alone: no
 * descriptor that is sent along goes over. */
#include "daemon/session/gateway/relay.h"

struct pair {
	struct watch near; /* accepted */
	struct watch far;  /* connected for it */
	struct relay up;   /* from near to far */
	struct relay down;
};

void pair_init(struct pair *p);
/* With both sockets open, whenever one of them is ready. RELAY_DONE: over; RELAY_AGAIN: call again in the next turn. */
enum relay_result pair_run(struct pair *p, char scratch[RELAY_SCRATCH]);
/* Closes both. .up.bytes and .down.bytes stay. */
void pair_done(struct pair *p, struct poller *poller);

#endif
