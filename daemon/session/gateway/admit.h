#ifndef ISOD_SESSION_GATEWAY_ADMIT_H
#define ISOD_SESSION_GATEWAY_ADMIT_H
/* May there be one more connection? Asked of what the rules allow, before anything goes out. */
#include <stdbool.h>
#include <stdint.h>

#include "policy/egress.h"

struct connection;
struct gateway;

/* A client that was accepted. EGRESS_ALLOWED, EGRESS_LIMIT or EGRESS_RATE. */
uint32_t admit_client(struct connection *c);
/* A way out to c->target: counted as open until admit_release(). EGRESS_ALLOWED, EGRESS_LIMIT, EGRESS_RATE or
 * EGRESS_BUDGET. c->refusal.retry_after is set where time helps. */
uint32_t admit_target(struct connection *c);
void admit_release(struct connection *c);

/* Lets c's relays draw from the accounts of its target, and of the address that it is connected to. After every change
 * of the target, the address, the rules, and after relay_init(). */
void admit_meter(struct connection *c);
/* There are more bytes than the accounts of c have: every connection that draws from the one that is used up is ended,
 * and so is c, after an answer where the client can still be told. To be returned by a step. */
bool admit_exceeded(struct connection *c, enum egress_direction direction, bool may_answer);

/* The monotonic clock, ns. */
uint64_t admit_clock(void);

#endif
