/* The rules have changed while connections are open: whatever they would not let through any more ends. */
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/usage.h"

/* The target, and the very addresses that are, or are about to be, dialled for it. */
static void judge(struct connection *c)
{
	struct egress_verdict address = { .allowed = true };
	uint32_t hello;

	judge_target(c);
	/* Nobody is asked about what goes on already. */
	if (c->verdict.reason == EGRESS_ASKED)
		c->verdict.reason = EGRESS_NOT_LISTED;
	hello = judge_hello_again(c);
	if (c->verdict.allowed && hello != EGRESS_ALLOWED) {
		c->verdict.allowed = false;
		c->verdict.reason = hello;
	}
	if (c->verdict.allowed && budget_is_exceeded(&c->gateway->budget, c->accounts)) {
		c->verdict.allowed = false;
		c->verdict.reason = EGRESS_BUDGET;
	}
	if (!c->verdict.allowed || c->target.is_literal || c->by_proxy)
		return;
	if (c->dial)
		dial_judge(c->dial, &address);
	else if (c->audit.family)
		resolve_judge(&c->gateway->resolver, &c->target, c->audit.family, c->audit.address, &address);
	if (!address.allowed)
		c->verdict = address;
}

/* The client of the proxy port stays: its next request may be for another host. */
static bool end_kept(struct connection *c)
{
	bool open = c->upstream.fd >= 0;

	if (!open)
		c->verdict.rule = EGRESS_NO_RULE;
	audit_end(c, open ? c->verdict.reason : (uint32_t)EGRESS_ALLOWED);
	connection_close_upstream(c);
	return open;
}

/* True where something was ended. */
static bool rejudge(struct connection *c)
{
	/* What was refused stays so, by a rule that has no number any more. */
	if (!c->verdict.allowed || c->state == CONNECTION_REFUSED || c->state == CONNECTION_LINGER) {
		c->verdict.rule = EGRESS_NO_RULE;
		return false;
	}
	judge(c);
	if (c->verdict.allowed)
		return false;
	switch ((enum connection_state)c->state) {
	case CONNECTION_PEEK:
		/* Nothing is open yet; with its first bytes it is refused in its own protocol. */
		return false;
	case CONNECTION_DIAL:
	case CONNECTION_PROXY:
		if (refuse(c, c->verdict.reason))
			connection_step(c);
		return true;
	case CONNECTION_REQUEST:
		if (!c->bound)
			return end_kept(c);
		break;
	default:
		break;
	}
	audit_end(c, c->verdict.reason);
	connection_close(c);
	return true;
}

unsigned gateway_rejudge(struct gateway *g)
{
	struct connection *c, *next;
	unsigned n = 0;

	for (c = TAILQ_FIRST(&g->connections); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state != CONNECTION_CLOSED)
			n += rejudge(c);
	}
	return n;
}

unsigned gateway_rules_changed(struct gateway *g)
{
	struct connection *c;
	unsigned n;

	budget_set_rules(&g->budget, g->rules);
	/* Accounts have other numbers now. */
	TAILQ_FOREACH (c, &g->connections, link)
		if (c->state != CONNECTION_CLOSED && c->state != CONNECTION_LINGER)
			admit_meter(c);
	n = gateway_rejudge(g);
	ask_rules_changed(g);
	usage_tell(g);
	return n;
}
