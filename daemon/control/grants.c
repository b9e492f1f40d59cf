#include "daemon/control/grants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/control/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "json/write.h"

void grants_done(struct grants *g)
{
	free(g->items);
	g->items = NULL;
	g->count = 0;
}

int grants_write(const struct grants *g, struct buffer *ret)
{
	struct json_writer *w;

	if (g->count == 0)
		return 0;
	w = json_write_new(ret);
	if (!w)
		return -ENOMEM;
	json_write_object(w);
	json_write_key(w, "sandbox");
	json_write_object(w);
	json_write_key(w, "network");
	json_write_object(w);
	json_write_key(w, "allowedDomains");
	json_write_array(w);
	for (size_t i = 0; i < g->count; i++)
		json_write_string(w, g->items[i].host);
	json_write_array_end(w);
	for (int i = 0; i < 3; i++)
		json_write_object_end(w);
	return json_write_finish(w);
}

static struct grant *find(struct grants *g, const char *host)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->items[i].host, host) == 0)
			return &g->items[i];
	return NULL;
}

static void on_timer(uv_timer_t *timer);

static void set_timer(struct session *s)
{
	uint64_t now = uv_now(s->control->loop), next = UINT64_MAX;

	for (size_t i = 0; i < s->grants.count; i++)
		if (s->grants.items[i].until > 0 && s->grants.items[i].until < next)
			next = s->grants.items[i].until;
	if (next == UINT64_MAX)
		uv_timer_stop(&s->grants.timer);
	else
		uv_timer_start(&s->grants.timer, on_timer, next > now ? next - now : 0, 0);
}

/* A grant that has ended must not hold on: where the rules cannot be replaced, the session ends. */
static void on_timer(uv_timer_t *timer)
{
	struct session *s = timer->data;
	struct grants *g = &s->grants;
	uint64_t now = uv_now(timer->loop);
	struct error e = ERROR_INIT;
	size_t kept = 0;

	if (s->state != SESSION_RUNNING)
		return;
	for (size_t i = 0; i < g->count; i++) {
		if (g->items[i].until > 0 && g->items[i].until <= now)
			audit_grant(s, "grant.expired", g->items[i].host, 0);
		else
			g->items[kept++] = g->items[i];
	}
	g->count = kept;
	if (reload_apply(s, NULL, NULL, &e) < 0) {
		log_error("session %s: a grant has ended and its rules cannot be replaced (%s); it is ended", s->id,
			  e.message);
		session_kill(s, CAUSE_FAULT);
		return;
	}
	set_timer(s);
}

/* The one form in which it is compared and shown. */
static int read_host(const char *text, struct egress_rule *ret_rule, char ret[EGRESS_RULE_TEXT_MAX], struct error *e)
{
	int r = egress_rule_parse(text, false, ret_rule, e);

	if (r < 0)
		return r;
	egress_rule_format(ret_rule, ret);
	return 0;
}

/* Is it denied by a rule, so that the grant would be one in name only? */
static bool is_denied(const struct session *s, const struct egress_rule *rule)
{
	struct egress_target t = { .port = rule->port ? rule->port : 443 };
	struct egress_verdict v = { .reason = EGRESS_ALLOWED };

	if (rule->kind == EGRESS_RULE_SUFFIX)
		return false;
	if (rule->kind == EGRESS_RULE_HOST) {
		t.name = rule->name;
	} else {
		t.family = rule->family;
		memcpy(t.address, rule->address, sizeof(t.address));
	}
	egress_decide(&s->policy.egress, &t, &v);
	return v.reason == EGRESS_DENIED;
}

/* Changes the list, then the rules; on failure both are as before. */
static int put(struct session *s, struct connection *c, const char *host, uint64_t until, struct error *e)
{
	struct grants *g = &s->grants;
	struct grant *there = find(g, host), before = { .until = 0 };
	bool added = !there;
	int r;

	if (added && g->count == LIMIT_GRANTS)
		return error_set(e, ERROR_LIMIT, E2BIG, "grant", "Revoke some, or write them into the policy.",
				 "A session can have at most %d grants.", LIMIT_GRANTS);
	if (!g->items)
		g->items = calloc(LIMIT_GRANTS, sizeof(*g->items));
	if (!g->items)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "grant", NULL, "There is no memory left.");
	if (added)
		there = &g->items[g->count++];
	else
		before = *there;
	snprintf(there->host, sizeof(there->host), "%s", host);
	there->until = until;
	r = reload_apply(s, NULL, c, e);
	if (r < 0 && added)
		g->count--;
	else if (r < 0)
		*there = before;
	return r;
}

int grants_add(struct session *s, struct connection *c, const char *host, uint64_t seconds, struct error *e)
{
	char text[EGRESS_RULE_TEXT_MAX];
	struct egress_rule rule = { .kind = 0 };
	int r = read_host(host, &rule, text, e);

	if (r == 0 && is_denied(s, &rule))
		r = error_set(e, ERROR_REFUSED, EACCES, "grant", "isoctl policy explain says which rule it is.",
			      "A rule of the policy denies %s, and no grant changes that.", text);
	egress_rule_done(&rule);
	if (r == 0)
		r = put(s, c, text, seconds ? uv_now(s->control->loop) + seconds * 1000 : 0, e);
	if (r < 0)
		return r;
	audit_grant(s, "grant", text, seconds);
	set_timer(s);
	return 0;
}

int grants_remove(struct session *s, struct connection *c, const char *host, struct error *e)
{
	char text[EGRESS_RULE_TEXT_MAX];
	struct egress_rule rule = { .kind = 0 };
	struct grants *g = &s->grants;
	struct grant before, *there;
	int r = read_host(host, &rule, text, e);

	egress_rule_done(&rule);
	if (r < 0)
		return r;
	there = find(g, text);
	if (!there)
		return error_set(e, ERROR_REFUSED, ENOENT, "revoke", "isoctl show lists what holds.",
				 "There is no grant for %s in this session.", text);
	before = *there;
	*there = g->items[--g->count];
	r = reload_apply(s, NULL, c, e);
	if (r < 0) {
		g->items[g->count] = *there;
		*there = before;
		g->count++;
		return r;
	}
	audit_grant(s, "revoke", text, 0);
	set_timer(s);
	return 0;
}
