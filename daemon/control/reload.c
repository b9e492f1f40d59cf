#include "daemon/control/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/keep.h"
#include "daemon/control/plan/policy_merge.h"
#include "daemon/control/plan/run_plan.h"
#include "daemon/control/session.h"
#include "daemon/control/usage.h"
#include "json/write.h"
#include "policy/policy_digest.h"
#include "policy/policy_network.h"

void reload_texts_done(struct reload_texts *t)
{
	for (size_t i = 0; i < t->n_layers; i++) {
		free((char *)t->layers[i].layer);
		free((char *)t->layers[i].path);
		free((char *)t->layers[i].text);
	}
	free(t->administrator);
	*t = (struct reload_texts){ .n_layers = 0 };
}

int reload_keep(struct reload_texts *t, const char *administrator, const struct json_objects *texts)
{
	const struct schema_policy *given = texts->items;

	if (administrator && !(t->administrator = strdup(administrator)))
		return -ENOMEM;
	for (size_t i = 0; i < texts->count && i < LIMIT_POLICY_LAYERS; i++) {
		struct schema_policy *kept = &t->layers[t->n_layers++];

		kept->layer = strdup(given[i].layer);
		kept->path = strdup(given[i].path);
		kept->text = strdup(given[i].text);
		if (!kept->layer || !kept->path || !kept->text)
			return -ENOMEM;
	}
	return 0;
}

void reload_done(struct reload *r)
{
	reload_texts_done(&r->texts);
	reload_texts_done(&r->first);
	policy_done(&r->source);
	*r = (struct reload){ .generation = 0 };
}

/* A file is one whether the user has confirmed it or not. */
static bool is_of(const struct schema_policy *text, const char *layer)
{
	return strcmp(text->layer, layer) == 0 ||
	       (strcmp(layer, "file") == 0 && strcmp(text->layer, "trusted-file") == 0);
}

static bool has_layer(const struct json_objects *texts, const char *layer)
{
	const struct schema_policy *items = texts->items;

	for (size_t i = 0; i < texts->count; i++)
		if (is_of(&items[i], layer))
			return true;
	return false;
}

/* The texts of one layer, after those in ret. */
static int take(const struct json_objects *from, const char *layer, struct json_objects *ret, struct error *e)
{
	const struct schema_policy *items = from->items;
	struct schema_policy *to = ret->items;

	for (size_t i = 0; i < from->count; i++) {
		if (!is_of(&items[i], layer))
			continue;
		if (ret->count == LIMIT_POLICY_LAYERS)
			return error_set(e, ERROR_LIMIT, E2BIG, "policies", NULL,
					 "With those of the session there are more than %d policies.",
					 LIMIT_POLICY_LAYERS);
		to[ret->count++] = items[i];
	}
	return 0;
}

/* What the caller's command line said holds as long as the session. */
static int choose(const struct reload *reload, const struct json_objects *sent, bool by_owner, struct json_objects *ret,
		  struct error *e)
{
	const struct json_objects kept = { .items = (void *)reload->texts.layers, .count = reload->texts.n_layers };
	const struct schema_policy *items = sent->items;
	int r;

	for (size_t i = 0; i < sent->count; i++)
		if (!is_of(&items[i], "user") && !is_of(&items[i], "file"))
			return error_set(e, ERROR_INVALID, EINVAL, "policies", NULL,
					 "PolicyReload takes the layers user and file.");
	r = take(by_owner ? sent : &kept, "user", ret, e);
	if (r == 0)
		r = take(has_layer(sent, "file") ? sent : &kept, "file", ret, e);
	if (r == 0)
		r = take(&kept, "command-line", ret, e);
	return r;
}

/* Written down first; the session's policy is the new one already. */
static int send_rules(struct session *s, const struct reload_texts *texts, struct error *e)
{
	_cleanup_close_ int fd = -1;
	int r = run_plan_seal_egress(&s->policy.egress, &fd, e);

	if (r < 0)
		return r;
	r = audit_policy(s);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "audit log", "Make room on the disk of the audit log.",
				 "The new policy could not be written to the audit log.");
	keep_send_next(s, texts);
	r = session_link_rules(&s->link, fd, s->reload.generation + 1);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "reload", "Try again.",
				 "The rules could not be sent to the session.");
	return 0;
}

static void put_back(struct session *s, struct policy *new, bool looser)
{
	if (looser)
		policy_network_swap_unlisted(&s->policy, new);
	policy_network_swap(&s->policy, new);
}

/* Puts the rules of new into the session; new holds its old ones then, and *ret_later says if anything else differs.
 * On failure all is as before. */
static int replace(struct session *s, struct policy *new, const struct reload_texts *texts, bool *ret_later,
		   struct error *e)
{
	char before[65], rest[65], now[65];
	bool looser;
	int r;

	policy_network_swap(&s->policy, new);
	/* What has begun closed is not opened while it runs, without a banner. */
	looser = s->policy.egress.unlisted > new->egress.unlisted;
	if (looser)
		policy_network_swap_unlisted(&s->policy, new);
	memcpy(before, s->digest, sizeof(before));
	r = policy_digest(&s->policy, now);
	if (r == 0)
		r = policy_digest(new, rest);
	if (r < 0) {
		put_back(s, new, looser);
		return error_set(e, ERROR_INTERNAL, -r, "reload", NULL, "There is no memory left.");
	}
	memcpy(s->digest, now, sizeof(now));
	*ret_later = strcmp(before, rest) != 0;
	r = send_rules(s, texts, e);
	if (r < 0) {
		put_back(s, new, looser);
		memcpy(s->digest, before, sizeof(before));
		(void)audit_policy(s);
		keep_send(s);
	}
	return r;
}

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "reload", NULL, "There is no memory left.");
}

/* Puts the grants behind what was chosen of the texts. */
static int add_grants(struct session *s, struct json_objects *chosen, struct buffer *grants, struct error *e)
{
	struct schema_policy *items = chosen->items;

	if (grants_write(&s->grants, grants) < 0 || buffer_append(grants, "", 1) < 0)
		return no_memory(e);
	if (s->grants.count == 0)
		return 0;
	if (chosen->count == LIMIT_POLICY_LAYERS)
		return error_set(e, ERROR_LIMIT, E2BIG, "policies", NULL,
				 "The session has %d policies, which leaves no room for grants.", LIMIT_POLICY_LAYERS);
	items[chosen->count++] =
		(struct schema_policy){ .layer = "command-line", .path = "grant", .text = grants->data };
	return 0;
}

static void take_over(struct session *s, struct reload_texts *kept, const struct policy *old)
{
	if (s->reload.generation == 0)
		s->reload.first = s->reload.texts;
	else
		reload_texts_done(&s->reload.texts);
	s->reload.texts = *kept;
	/* Which holds the rules of before, and with them what still points into the texts that are freed here. */
	policy_done(&s->reload.source);
	s->reload.source = *old;
	s->reload.generation++;
	usage_forget(s);
}

/* NULL where it has gone meanwhile. */
static struct connection *who_asked(struct session *s)
{
	struct connection *c;

	s->reload.awaited = 0;
	uv_timer_stop(&s->reload_timer);
	LIST_FOREACH (c, &s->control->connections, entry)
		if (c->number == s->reload.connection && c->state == CONNECTION_BUSY)
			return c;
	return NULL;
}

/* The rules were sent: what the helper does with them it does when it gets there, and an answer then finds nobody. */
static void on_timeout(uv_timer_t *timer)
{
	struct session *s = timer->data;
	struct connection *c = who_asked(s);
	struct error e = ERROR_INIT;

	log_warning("session %s has not said that its new rules hold", s->id);
	if (!c)
		return;
	error_set(&e, ERROR_INTERNAL, ETIMEDOUT, "reload", "Ask again, or end the session: isoctl kill.",
		  "The session was sent the new rules and has not said within %u s that they hold.",
		  LIMIT_RELOAD_MS / 1000);
	connection_reply_error(c, &e);
	connection_call_done(c);
}

int reload_apply(struct session *s, const struct json_objects *texts, struct connection *c, struct error *e)
{
	static const struct json_objects none = { .items = NULL };
	_cleanup_buffer_ struct buffer grants = BUFFER_INIT(LIMIT_POLICY_FILE);
	struct schema_policy items[LIMIT_POLICY_LAYERS];
	_cleanup_free_ char *administrator = NULL;
	struct json_objects chosen = { .items = items };
	struct reload_texts kept = { .n_layers = 0 };
	struct policy new = { .arena = NULL };
	bool later = false;
	int r = choose(&s->reload, texts ? texts : &none, texts && c && c->uid == s->uid, &chosen, e);

	if (r == 0)
		r = policy_merge_administrator(s->control->config_fd, &administrator, e);
	if (r == 0 && reload_keep(&kept, administrator, &chosen) < 0)
		r = no_memory(e);
	if (r == 0)
		r = add_grants(s, &chosen, &grants, e);
	if (r == 0)
		r = policy_merge_texts(administrator, &chosen, &new, e);
	if (r == 0 && grants_mark(&s->grants, &new) < 0)
		r = no_memory(e);
	if (r == 0)
		r = replace(s, &new, &kept, &later, e);
	if (r < 0) {
		policy_done(&new);
		reload_texts_done(&kept);
		return r;
	}
	take_over(s, &kept, &new);
	if (!c)
		return 0;
	s->reload.awaited = s->reload.generation;
	s->reload.later = later;
	s->reload.connection = c->number;
	uv_timer_start(&s->reload_timer, on_timeout, LIMIT_RELOAD_MS, 0);
	connection_set_busy(c);
	return 0;
}

static struct json_objects layers_of(const struct reload_texts *t, struct schema_policy *items)
{
	memcpy(items, t->layers, t->n_layers * sizeof(*items));
	return (struct json_objects){ .items = items, .count = t->n_layers };
}

/* The rules that hold since a reload, in place of those of the start. */
static int restore_rules(struct session *s, uint32_t unlisted, struct error *e)
{
	_cleanup_buffer_ struct buffer grants = BUFFER_INIT(LIMIT_POLICY_FILE);
	struct schema_policy items[LIMIT_POLICY_LAYERS];
	struct json_objects texts = layers_of(&s->reload.texts, items);
	struct policy *now = &s->reload.source;
	int r = add_grants(s, &texts, &grants, e);

	if (r == 0)
		r = policy_merge_texts(s->reload.texts.administrator, &texts, now, e);
	if (r == 0 && grants_mark(&s->grants, now) < 0)
		r = no_memory(e);
	if (r < 0)
		return r;
	policy_network_swap(&s->policy, now);
	s->policy.egress.unlisted = unlisted;
	return 0;
}

int reload_restore(struct session *s, uint32_t unlisted, const char *digest, struct error *e)
{
	const bool reloaded = s->reload.generation > 0;
	const struct reload_texts *first = reloaded ? &s->reload.first : &s->reload.texts;
	struct schema_policy items[LIMIT_POLICY_LAYERS];
	struct json_objects texts = layers_of(first, items);
	_cleanup_close_ int fd = -1;
	int r = policy_merge_texts(first->administrator, &texts, &s->policy, e);

	s->has_policy = true;
	if (r == 0 && reloaded)
		r = restore_rules(s, unlisted, e);
	if (r == 0 && policy_digest(&s->policy, s->digest) < 0)
		r = no_memory(e);
	if (r < 0)
		return r;
	if (strcmp(s->digest, digest) != 0)
		return error_set(e, ERROR_POLICY, ESTALE, "policy", "Start it anew.",
				 "The policy of the session is not read as it was when the session began.");
	if (!reloaded)
		return 0;
	/* The isod-control before may have died before it sent them. */
	s->reload.generation++;
	r = run_plan_seal_egress(&s->policy.egress, &fd, e);
	if (r == 0 && session_link_rules(&s->link, fd, s->reload.generation) < 0)
		r = error_set(e, ERROR_INTERNAL, EPIPE, "reload", NULL, "The rules could not be sent to the session.");
	return r;
}

struct session *reload_find(struct connection *c, const char *text, struct error *e)
{
	struct session *s = registry_find(&c->control->registry, c->uid, text, e);

	if (!s)
		return NULL;
	if (s->state == SESSION_ENDED)
		error_set(e, ERROR_REFUSED, ESRCH, "session", NULL, "The session has ended.");
	else if (s->state == SESSION_STARTING)
		error_set(e, ERROR_REFUSED, EAGAIN, "session", "Try again once it runs.",
			  "The session is only starting.");
	else if (s->reload.awaited)
		error_set(e, ERROR_REFUSED, EBUSY, "session", "Try again.",
			  "Its rules are being replaced by another call.");
	else
		return s;
	return NULL;
}

int reload_answered(struct session *s, uint32_t generation, uint32_t closed)
{
	struct connection *c;
	struct json_writer *w;

	if (generation == 0 || generation > s->reload.generation)
		return -EBADMSG;
	if (generation != s->reload.awaited)
		return 0;
	c = who_asked(s);
	if (!c)
		return 0;
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_member_string(w, "session", s->id);
		json_write_member_string(w, "digest", s->digest);
		json_write_member_integer(w, "closed", closed);
		json_write_member_bool(w, "later", s->reload.later);
	}
	connection_reply_end(c, w);
	connection_call_done(c);
	return 0;
}

void reload_abandoned(struct session *s)
{
	struct connection *c = s->reload.awaited ? who_asked(s) : NULL;
	struct error e = ERROR_INIT;

	if (!c)
		return;
	error_set(&e, ERROR_REFUSED, ESRCH, "reload", NULL, "The session has ended.");
	connection_reply_error(c, &e);
	connection_call_done(c);
}
