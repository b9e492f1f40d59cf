#ifndef ISOD_SESSION_GATEWAY_USAGE_H
#define ISOD_SESSION_GATEWAY_USAGE_H
/* Tells isod-control how much of the budget is used: a second after bytes have moved, and never more often. */
struct gateway;

/* Bytes may have moved. */
void usage_soon(struct gateway *g);
/* At once, for rules that have changed and the last word. */
void usage_tell(struct gateway *g);

#endif
