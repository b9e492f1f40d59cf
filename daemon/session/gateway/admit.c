#include "daemon/session/gateway/admit.h"

#include <string.h>
#include <time.h>

#include "daemon/session/events.h"
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/refusal.h"

uint64_t admit_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RATE_SECOND + (uint64_t)t.tv_nsec;
}

static bool take(struct connection *c, struct rate *rate, uint32_t per_second)
{
	uint64_t wait = 0;

	if (rate_take(rate, per_second, c->gateway->clock(), &wait))
		return true;
	c->refusal.retry_after = (uint32_t)((wait + RATE_SECOND - 1) / RATE_SECOND);
	return false;
}

/* Another connection may end at any time. */
static uint32_t full(struct connection *c)
{
	c->refusal.retry_after = 1;
	return EGRESS_LIMIT;
}

uint32_t admit_client(struct connection *c)
{
	struct gateway *g = c->gateway;
	const struct egress_limits *limits = &g->rules->limits;

	if (g->n_connections > LIMIT_SESSION_CONNECTIONS ||
	    (limits->connections && g->n_connections > limits->connections))
		return full(c);
	if (!take(c, &g->rate, limits->per_second))
		return EGRESS_RATE;
	c->first_way_out = true;
	return EGRESS_ALLOWED;
}

uint32_t admit_target(struct connection *c)
{
	struct gateway *g = c->gateway;
	const struct egress_limits *limits = &g->rules->limits;
	struct host *host;

	admit_release(c);
	admit_meter(c);
	if (budget_is_spent(&g->budget, c->accounts))
		return EGRESS_BUDGET;
	host = hosts_get(&g->hosts, c->target.name, g->clock());
	if (!host || (limits->host_connections && host->open >= limits->host_connections))
		return full(c);
	/* The first one was counted when its client came. */
	if (!c->first_way_out && !take(c, &g->rate, limits->per_second))
		return EGRESS_RATE;
	if (!take(c, &host->rate, limits->host_per_second))
		return EGRESS_RATE;
	c->first_way_out = false;
	host->open++;
	c->host = host;
	return EGRESS_ALLOWED;
}

void admit_release(struct connection *c)
{
	if (c->host)
		hosts_release(&c->gateway->hosts, c->host, c->gateway->clock());
	c->host = NULL;
}

static void meter(struct connection *c, struct relay *r, enum egress_direction direction)
{
	r->budget = &c->gateway->budget;
	r->accounts = c->accounts;
	r->direction = direction;
}

void admit_meter(struct connection *c)
{
	const struct target *target = &c->target;
	struct egress_target t = { .name = target->is_literal ? NULL : target->name, .port = target->port };

	t.family = target->is_literal ? target->family : c->audit.family;
	memcpy(t.address, target->is_literal ? target->address : c->audit.address, sizeof(t.address));
	c->accounts = egress_budget_accounts(c->gateway->rules, &t);
	meter(c, &c->up, EGRESS_OUT);
	meter(c, &c->down, EGRESS_IN);
}

static void tell(struct gateway *g, uint64_t accounts, enum egress_direction direction)
{
	for (uint32_t i = 0; i < g->budget.n; i++)
		if (accounts >> i & 1)
			events_budget(g->events, i, direction, g->budget.accounts[i].limit[direction],
				      g->rules->generation);
}

bool admit_exceeded(struct connection *c, enum egress_direction direction, bool may_answer)
{
	struct gateway *g = c->gateway;
	uint64_t fresh = budget_exceed(&g->budget, c->accounts, direction);
	bool step = false;

	tell(g, fresh, direction);
	if (may_answer) {
		step = refuse(c, EGRESS_BUDGET);
	} else {
		audit_end(c, EGRESS_BUDGET);
		connection_close(c);
	}
	if (fresh)
		gateway_rejudge(g);
	return step;
}
