#ifndef ISOD_PROXY_EVENTS_H
#define ISOD_PROXY_EVENTS_H
/* What the gateway tells, as lines of the audit log's form on stderr. Here too: invented names, of which a gateway
 * outside a session has none. */
#include <stdint.h>

#include "policy/policy.h"

struct events {
	const struct policy *policy;
	uint64_t lost; /* lines that nobody took */
};

/* "gateway.start". */
void proxy_events_start(struct events *e, uint16_t port);

#endif
