#ifndef ISOD_SESSION_GATEWAY_DIAL_H
#define ISOD_SESSION_GATEWAY_DIAL_H
/* From a target to a connected socket: resolve, then try the checked addresses in order, the next one 250 ms after the
 * last or as soon as one has failed (RFC 8305). Four at once; where all of them are silent, the oldest is given up for
 * the next after 2 s, so that each gets its turn. */
#include "daemon/session/gateway/deadline.h"
#include "daemon/session/gateway/poller.h"
#include "daemon/session/gateway/resolve.h"

struct dial;

enum dial_state {
	DIAL_PENDING,
	DIAL_RESOLVED,  /* dial_connect() may be called */
	DIAL_CONNECTED, /* dial_take() may be called */
	DIAL_FAILED,    /* dial_reason() */
};

typedef void (*dial_fn)(void *data);

/* NULL when out of memory. fn is called from the loop when a step that returned DIAL_PENDING has ended. target and
 * the rest must outlive the dial. */
struct dial *dial_new(struct resolver *resolver, struct poller *poller, struct deadlines *deadlines,
		      const struct target *target, dial_fn fn, void *data);
/* Also in the middle of it. NULL is allowed. */
void dial_free(struct dial *d);

enum dial_state dial_resolve(struct dial *d);
enum dial_state dial_connect(struct dial *d);
enum dial_state dial_state(const struct dial *d);
uint32_t dial_reason(const struct dial *d); /* enum egress_reason */
/* errno of the attempt that failed last, 0: none has. */
int dial_error(const struct dial *d);
/* Are all addresses that were found for a name still allowed? The verdict on the first that is not. */
void dial_judge(const struct dial *d, struct egress_verdict *ret);
/* Hands the connected socket over to w. The address is the one it is connected to. */
void dial_take(struct dial *d, struct watch *w, watch_fn fn, uint8_t *ret_family, uint8_t ret_address[16]);

#endif
