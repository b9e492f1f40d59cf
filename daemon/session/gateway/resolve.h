#ifndef ISOD_SESSION_GATEWAY_RESOLVE_H
#define ISOD_SESSION_GATEWAY_RESOLVE_H
/* The addresses behind an allowed target, each of them checked. What is returned is what is dialled: there is no second
 * look-up between check and connect. */
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/session/gateway/answers.h"
#include "daemon/session/gateway/target.h"
#include "policy/address.h"

struct resolved {
	uint32_t n;
	uint32_t reason; /* with n == 0: EGRESS_UNRESOLVED or EGRESS_PRIVATE_ADDRESS */
	struct {
		uint8_t family;
		uint8_t address[16];
	} addresses[LIMIT_PINNED_ADDRESSES];
};

enum { NAT64_MAX = 4 };

/* Look-ups under way, one a name however many wait for it: a name whose servers do not answer holds up nobody else. */
struct lookup;
struct resolver {
	uv_loop_t *loop;
	const struct egress_rules *rules;
	LIST_HEAD(lookup_list, lookup) lookups;
	struct stub *stub; /* made at the first need */
	struct answers answers;
	/* What the network translates to IPv4 with (RFC 7050). Asked for before an IPv6 address is first judged. */
	struct {
		struct address_nat64 prefixes[NAT64_MAX];
		uint32_t n;
		uint64_t until;          /* uv_now() */
		struct lookup *lookup;   /* under way, or NULL */
		struct lookup_list held; /* answered, but not judged before */
	} nat64;
};

/* rules: NULL where every address will do, for the upstream proxy that the administrator names. */
void resolver_open(struct resolver *all, uv_loop_t *loop, const struct egress_rules *rules);
/* After every resolve_cancel(). Look-ups that cannot be called back free themselves when they end; handles of the loop
 * are closed in it. */
void resolver_close(struct resolver *all);

struct resolve;
typedef void (*resolve_fn)(void *data, const struct resolved *result);

/*
 * 1: *ret is filled (literals, pinned names). 0: fn is called later, *ret_pending is set. -errno. target must live
 * until then, or until resolve_cancel(), after which fn is not called.
 */
int resolve_start(struct resolver *all, const struct target *target, struct resolved *ret, resolve_fn fn, void *data,
		  struct resolve **ret_pending);
void resolve_cancel(struct resolve *r);

/* May this address of a target that is a name be dialled? As resolve_start() judges each that it finds. */
void resolve_judge(const struct resolver *all, const struct target *target, uint8_t family, const uint8_t address[16],
		   struct egress_verdict *ret);

#endif
