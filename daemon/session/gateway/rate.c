#include "daemon/session/gateway/rate.h"

bool rate_take(struct rate *r, uint32_t per_second, uint64_t now, uint64_t *ret_wait)
{
	uint64_t token, full_at = r->full_at > now ? r->full_at : now;

	if (per_second == 0)
		return true;
	/* Each token that was taken moves the time at which the bucket is full again; an empty one needs a second. */
	token = RATE_SECOND / per_second;
	if (full_at - now > RATE_SECOND - token) {
		*ret_wait = full_at - now - (RATE_SECOND - token);
		return false;
	}
	r->full_at = full_at + token;
	return true;
}

bool rate_is_full(const struct rate *r, uint64_t now)
{
	return r->full_at <= now;
}
