#include "daemon/session/gateway/usage.h"

#include <stddef.h>
#include <string.h>

#include "daemon/session/events.h"
#include "daemon/session/gateway/gateway_state.h"

static uint64_t total(const struct gateway *g)
{
	const struct budget_account *session = &g->budget.accounts[0];

	return session->used[EGRESS_OUT] + session->used[EGRESS_IN];
}

void usage_tell(struct gateway *g)
{
	struct session_usage m = { .n = g->budget.n, .generation = g->rules->generation };

	for (uint32_t i = 0; i < g->budget.n; i++)
		memcpy(m.bytes[i], g->budget.accounts[i].used, sizeof(m.bytes[i]));
	events_usage(g->events, &m);
	g->usage.told = total(g);
}

static void on_usage(struct deadline *d)
{
	usage_tell((struct gateway *)((char *)d - offsetof(struct gateway, usage.next)));
}

void usage_soon(struct gateway *g)
{
	if (!g->usage.next.set && total(g) != g->usage.told)
		deadline_set(&g->deadlines, &g->usage.next, DEADLINE_USAGE, on_usage);
}
