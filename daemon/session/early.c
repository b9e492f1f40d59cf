#include "daemon/session/early.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/wire/link_wire.h"

void early_keep(struct early *e, const struct late_event *event)
{
	size_t n = late_event_size(event);
	struct late_event *copy = e->n < EARLY_MAX && event->kind != LATE_MORE ? malloc(n) : NULL;

	if (!copy) {
		e->n_more += event->kind == LATE_MORE ? event->count : 1;
		return;
	}
	memcpy(copy, event, n);
	e->events[e->n++] = copy;
}

void early_tell(const struct early *e, struct clients *c)
{
	struct late_event more = { .type = LINK_LATE, .kind = LATE_MORE, .count = e->n_more };

	for (size_t i = 0; i < e->n; i++)
		clients_tell_late(c, e->events[i]);
	if (more.count > 0)
		clients_tell_late(c, &more);
}

void early_done(struct early *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->events[i]);
	e->n = 0;
}
