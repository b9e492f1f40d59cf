#ifndef ISOD_SESSION_GATEWAY_HOLDING_H
#define ISOD_SESSION_GATEWAY_HOLDING_H
/* The bytes that connections hold in buffers: heads that are not whole yet, requests without an answer, what a peer
 * does not take. All together are bounded, since a program may open thousands that stay in such a state. */
#include <stdbool.h>

struct connection;
struct gateway;

/* Counts c's buffers anew. False: all hold too much, and this one more than its share; then it is to be refused
 * (EGRESS_LIMIT), or to read less. */
bool holding_count(struct connection *c);
/* Before both relays of c run: while much is held, they read in small pieces. */
void holding_bound_relays(struct connection *c);

#endif
