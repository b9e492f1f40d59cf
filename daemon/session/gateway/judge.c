#include "daemon/session/gateway/judge.h"

#include <string.h>

#include "daemon/session/events.h"
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/proxy_call.h"
#include "policy/egress_tls.h"

void judge_release(struct connection *c)
{
	if (c->once)
		events_status(c->gateway->events, SESSION_ONCE, ONCE_OVER, (int32_t)c->once);
	c->once = 0;
}

void judge_look(struct connection *c)
{
	struct egress_verdict *v = &c->verdict;

	target_decide(&c->target, c->gateway->rules, c->once, v);
	/* Which address the proxy would take for it is not seen here, and a private one is none to learn. */
	if (v->reason == EGRESS_LEARNED && proxy_call_takes(c))
		*v = (struct egress_verdict){ .reason = EGRESS_NOT_LISTED, .rule = EGRESS_NO_RULE };
	if (v->reason == EGRESS_ASKED && ask_was_refused(c))
		v->reason = EGRESS_OWNER_REFUSED;
}

void judge_target(struct connection *c)
{
	struct egress_rules *rules = c->gateway->rules;
	struct egress_verdict *v = &c->verdict;
	uint32_t once;

	judge_look(c);
	if (!v->allowed)
		return;
	c->audit.learned = v->reason == EGRESS_LEARNED;
	once = v->rule == EGRESS_NO_RULE ? 0 : rules->rules[v->rule].once;
	if (once == 0 || once == c->once)
		return;
	judge_release(c);
	egress_rule_spend(rules, v->rule);
	c->once = once;
	events_status(c->gateway->events, SESSION_ONCE, ONCE_USED, (int32_t)once);
}

uint32_t judge_hello(struct connection *c, const char *name, size_t len, bool ech)
{
	const struct egress_hello hello = { .name = name, .name_len = len, .ech = ech };
	const struct egress_target t = target_for_egress(&c->target);

	c->hello_seen = true;
	c->hello_unnamed = !name;
	c->hello_ech = ech;
	return egress_tls_decide(c->gateway->rules, &t, &hello);
}

uint32_t judge_hello_again(const struct connection *c)
{
	const struct egress_target t = target_for_egress(&c->target);
	struct egress_hello hello = { .ech = c->hello_ech };

	if (!c->hello_seen)
		return EGRESS_ALLOWED;
	/* Where it had a name, that was the target's. */
	if (!c->hello_unnamed) {
		hello.name = c->target.name;
		hello.name_len = strlen(c->target.name);
	}
	return egress_tls_decide(c->gateway->rules, &t, &hello);
}
