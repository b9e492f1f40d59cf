#ifndef ISOD_SESSION_GATEWAY_RATE_H
#define ISOD_SESSION_GATEWAY_RATE_H
/* How often something may happen: a bucket of N tokens that gets N a second. Pure; the clock is the caller's. */
#include <stdbool.h>
#include <stdint.h>

#define RATE_SECOND 1000000000ULL

struct rate {
	uint64_t full_at; /* ns: when every token will be back. Zero: all are there */
};

/* Takes a token. per_second: 0 = no limit, at most LIMIT_EGRESS_RATE. now: ns, never going back. False: there is none,
 * and *ret_wait ns later there will be one. */
bool rate_take(struct rate *r, uint32_t per_second, uint64_t now, uint64_t *ret_wait);
/* Are all tokens there? Then it is as if it had never been used. */
bool rate_is_full(const struct rate *r, uint64_t now);

#endif
