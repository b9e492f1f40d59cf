#ifndef ISOD_SESSION_GATEWAY_RESOLVE_H
#define ISOD_SESSION_GATEWAY_RESOLVE_H
/* The addresses behind an allowed target, each of them checked. What is returned is what is dialled: there is no second
 * look-up between check and connect. */
#include <stdint.h>
#include <uv.h>

#include "daemon/session/gateway/target.h"

struct resolved {
	uint32_t n;
	uint32_t reason; /* with n == 0: EGRESS_UNRESOLVED or EGRESS_PRIVATE_ADDRESS */
	struct {
		uint8_t family;
		uint8_t address[16];
	} addresses[LIMIT_PINNED_ADDRESSES];
};

struct resolve;
typedef void (*resolve_fn)(void *data, const struct resolved *result);

/*
 * 1: *ret is filled (literals, pinned names). 0: fn is called later, *ret_pending is set. -errno. target and rules must
 * live until then, or until resolve_cancel(), after which fn is not called.
 */
int resolve_start(uv_loop_t *loop, const struct egress_rules *rules, const struct target *target, struct resolved *ret,
		  resolve_fn fn, void *data, struct resolve **ret_pending);
void resolve_cancel(struct resolve *r);

#endif
