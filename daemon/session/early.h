#ifndef ISOD_SESSION_EARLY_H
#define ISOD_SESSION_EARLY_H
/* Late files told before the client has come, kept for it; the first program may be quicker than it. isod-control has
 * all. */
#include <stddef.h>

#include "daemon/session/clients.h"
#include "daemon/wire/late.h"

#define EARLY_MAX 64

struct early {
	struct late_event *events[EARLY_MAX];
	size_t n;
	uint32_t n_more; /* that were not kept */
};

void early_keep(struct early *e, const struct late_event *event);
void early_tell(const struct early *e, struct clients *c);
void early_done(struct early *e);

#endif
