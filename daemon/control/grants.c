#include "daemon/control/grants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/wire/session_wire.h"
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

int grants_mark(const struct grants *g, struct policy *policy)
{
	struct egress_rule *rules = policy->egress.rules;
	size_t first = policy->allowed_domains.count - g->count;
	bool any = false;

	for (size_t i = 0; i < g->count; i++) {
		rules[first + i].once = g->items[i].once;
		any = any || g->items[i].once;
	}
	return any ? egress_rules_prepare(&policy->egress) : 0;
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

void grants_begin(struct session *s)
{
	set_timer(s);
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
			audit_grant(s, "grant.expired", &g->items[i], 0);
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

static void set(struct grant *g, const char *host, uint64_t until, uint32_t once)
{
	*g = (struct grant){ .until = until, .once = once };
	snprintf(g->host, sizeof(g->host), "%s", host);
}

/* Changes the list, then the rules; on failure both are as before. */
static int put(struct session *s, struct connection *c, const char *host, const struct grant_terms *terms,
	       struct error *e)
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
	set(there, host, terms->seconds ? uv_now(s->control->loop) + terms->seconds * 1000 : 0,
	    terms->once ? ++g->last_once : 0);
	r = reload_apply(s, NULL, c, e);
	if (r < 0 && added)
		g->count--;
	else if (r < 0)
		*there = before;
	else
		audit_grant(s, "grant", there, terms->seconds);
	return r;
}

int grants_add(struct session *s, struct connection *c, const char *host, const struct grant_terms *terms,
	       struct error *e)
{
	char text[EGRESS_RULE_TEXT_MAX];
	struct egress_rule rule = { .kind = 0 };
	int r = read_host(host, &rule, text, e);

	if (r == 0 && is_denied(s, &rule))
		r = error_set(e, ERROR_REFUSED, EACCES, "grant", "isoctl policy explain says which rule it is.",
			      "A rule of the policy denies %s, and no grant changes that.", text);
	egress_rule_done(&rule);
	if (r == 0)
		r = put(s, c, text, terms, e);
	if (r == 0)
		set_timer(s);
	return r;
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
	audit_grant(s, "revoke", &before, 0);
	set_timer(s);
	return 0;
}

/* What it had opened is closed already; the rules without it change nothing but what is shown. */
static void over(struct session *s, struct grant *g)
{
	struct error e = ERROR_INIT;

	*g = s->grants.items[--s->grants.count];
	if (s->state == SESSION_RUNNING && reload_apply(s, NULL, NULL, &e) < 0)
		log_warning("session %s: a used grant stays in its rules, where it allows nothing: %s", s->id,
			    e.message);
	set_timer(s);
}

int grants_on_once(struct session *s, uint32_t kind, uint32_t number)
{
	struct grants *g = &s->grants;

	if (number == 0 || number > g->last_once || (kind != ONCE_USED && kind != ONCE_OVER))
		return -EBADMSG;
	for (size_t i = 0; i < g->count; i++) {
		if (g->items[i].once != number)
			continue;
		if (kind == ONCE_OVER) {
			over(s, &g->items[i]);
			return 0;
		}
		if (!g->items[i].used)
			audit_grant(s, "grant.used", &g->items[i], 0);
		g->items[i].used = true;
	}
	/* Taken back meanwhile, or ended. */
	return 0;
}

void grants_write_list(const struct session *s, struct json_writer *w)
{
	const struct grants *g = &s->grants;
	char time[TIMESTAMP_SIZE];

	json_write_key(w, "grants");
	json_write_array(w);
	for (size_t i = 0; i < g->count; i++) {
		const struct grant *item = &g->items[i];

		json_write_object(w);
		json_write_member_string(w, "host", item->host);
		json_write_member_string(w, "scope", item->once ? "once" : "session");
		json_write_member_bool(w, "used", item->used);
		json_write_key(w, "ends");
		if (item->until)
			json_write_string(w, timestamp_format(timestamp_now() + (int64_t)item->until -
								      (int64_t)uv_now(s->control->loop),
							      time));
		else
			json_write_null(w);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}

size_t grants_list_size(const struct grants *g)
{
	return 16 + g->count * (EGRESS_RULE_TEXT_MAX + 128);
}
