#include "client/policy/policy_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/escape.h"
#include "client/listing.h"
#include "client/policy/policy_tls.h"
#include "policy/policy.h"

/* A rule of the answer beside the rule that it means. */
struct source {
	const char *key; /* "allowedDomains" */
	const char *text;
	const char *why;               /* or NULL */
	const struct json_value *from; /* a string */
};

struct rules {
	struct egress_rules egress;
	struct source *sources;          /* one for each of egress.rules */
	const struct json_value *tls;    /* or NULL */
	const struct json_value *pinned; /* addresses of the host that the administrator gave it, or NULL */
};

static void rules_done(struct rules *r)
{
	egress_rules_done(&r->egress);
	free(r->sources);
}
#define _cleanup_rules_ __attribute__((cleanup(rules_done)))

static int unreadable(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, EBADMSG, "reply", NULL, "isod's answer cannot be read.");
}

static const struct json_value *find(const struct json_value *object, const char *name, enum json_type type)
{
	const struct json_value *v = object && object->type == JSON_OBJECT ? json_get(object, name) : NULL;

	return v && v->type == type ? v : NULL;
}

static int add_rule(struct rules *r, const char *key, const struct json_value *item, struct error *e)
{
	const struct json_value *value = item->type == JSON_OBJECT ? json_get(item, "value") : NULL;
	const struct json_value *host = value && value->type == JSON_OBJECT ? find(value, "host", JSON_STRING) : value;
	const struct json_value *why = find(value, "reason", JSON_STRING);
	struct source source = { .key = key, .from = find(item, "from", JSON_STRING) };
	struct egress_rule rule;

	if (!host || host->type != JSON_STRING || !source.from)
		return unreadable(e);
	if (egress_rule_parse(host->string.data, strcmp(key, "deniedDomains") == 0, &rule, e) < 0)
		return -EINVAL;
	source.text = host->string.data;
	source.why = why ? why->string.data : NULL;
	r->sources[r->egress.n_rules] = source;
	r->egress.rules[r->egress.n_rules++] = rule;
	return 0;
}

/* An unknown word is one of a later version: nothing is promised. */
static uint32_t read_unlisted(const struct json_value *network)
{
	const struct json_value *word = find(find(network, "onUnlisted", JSON_OBJECT), "value", JSON_STRING);
	uint32_t i = EGRESS_UNLISTED_COUNT;

	while (word && --i > 0 && strcmp(policy_unlisted_name(i), word->string.data) != 0)
		;
	return word ? i : EGRESS_UNLISTED_DENY;
}

static int read_rules(const struct json_value *policy, const char *host, struct rules *ret, struct error *e)
{
	static const char *const keys[] = { "allowedDomains", "deniedDomains" };
	const struct json_value *network = find(find(policy, "sandbox", JSON_OBJECT), "network", JSON_OBJECT);
	const struct json_value *lists[ARRAY_SIZE(keys)];
	size_t n = 1;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		lists[i] = find(network, keys[i], JSON_ARRAY);
		if (!lists[i])
			return unreadable(e);
		n += lists[i]->array.count;
	}
	ret->egress.rules = calloc(n, sizeof(*ret->egress.rules));
	ret->sources = calloc(n, sizeof(*ret->sources));
	if (!ret->egress.rules || !ret->sources)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "policy", NULL, "There is no memory left.");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (size_t k = 0; r == 0 && k < lists[i]->array.count; k++)
			r = add_rule(ret, keys[i], &lists[i]->array.items[k], e);
	ret->egress.unlisted = read_unlisted(network);
	ret->tls = find(network, "tls", JSON_OBJECT);
	ret->pinned = find(find(policy, "hosts", JSON_OBJECT), host, JSON_ARRAY);
	if (r == 0 && egress_rules_prepare(&ret->egress) < 0)
		r = error_set(e, ERROR_INTERNAL, ENOMEM, "policy", NULL, "There is no memory left.");
	return r;
}

static struct egress_verdict decide(const struct egress_rules *rules, const struct policy_operand *host, uint16_t port)
{
	struct egress_target t = { .name = host->is_literal ? NULL : host->host, .family = host->family, .port = port };
	struct egress_verdict v;

	memcpy(t.address, host->address, sizeof(t.address));
	egress_decide(rules, &t, &v);
	return v;
}

/* What a rule says of the host, on its own: "decides", "holds", "other-port", or NULL where it is not about it. */
static const char *state_of(const struct rules *r, uint32_t i, const struct policy_operand *host, uint16_t port,
			    const struct egress_verdict *decided)
{
	struct egress_rules one = { .rules = &r->egress.rules[i], .n_rules = 1 };
	struct egress_verdict v = { .rule = EGRESS_NO_RULE };

	if (decided->rule == i)
		return decided->reason == EGRESS_PORT ? "other-port" : "decides";
	if (egress_rules_prepare(&one) == 0)
		v = decide(&one, host, port);
	free(one.by_name);
	if (v.rule == EGRESS_NO_RULE)
		return NULL;
	return v.reason == EGRESS_PORT ? "other-port" : "holds";
}

static bool same(const struct egress_verdict *a, const struct egress_verdict *b)
{
	return a->reason == b->reason && a->rule == b->rule;
}

/* How the host is written in a rule. */
static void rule_for(const struct policy_operand *host, uint16_t port, char *ret, size_t size)
{
	bool v6 = host->is_literal && host->family == AF_INET6;
	char suffix[8] = "";

	if (port != 80 && port != 443)
		snprintf(suffix, sizeof(suffix), ":%u", port);
	snprintf(ret, size, "%s%s%s%s", v6 ? "[" : "", host->host, v6 ? "]" : "", suffix);
}

static int append_rules(struct buffer *out, const struct rules *rules, const struct policy_operand *host, uint16_t port,
			const struct egress_verdict *v)
{
	int r = 0;

	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; r == 0 && i < rules->egress.n_rules; i++) {
			const struct source *s = &rules->sources[i];
			const char *state = (turn == 0) == (v->rule == i) ? state_of(rules, i, host, port, v) : NULL;

			if (!state)
				continue;
			r = buffer_printf(out, "  %-10s ", state);
			if (r == 0)
				r = escape_append(out, s->text, strlen(s->text));
			if (r == 0)
				r = buffer_printf(out, "  (sandbox.network.%s, ", s->key);
			if (r == 0)
				r = listing_append(out, s->from);
			if (r == 0)
				r = buffer_append_string(out, ")\n");
		}
	}
	return r;
}

static int append_remedy(struct buffer *out, const struct policy_operand *host, uint16_t port,
			 const struct egress_verdict *v)
{
	char hint[EGRESS_HINT_MAX], rule[HOSTNAME_MAX + 16];
	int r;

	egress_reason_hint(v->reason, "isoctl run", host->host, port, hint);
	r = hint[0] ? buffer_printf(out, "  %s\n", hint) : 0;
	if (r < 0 || v->reason == EGRESS_DENIED || !strstr(hint, "--allow-domain"))
		return r;
	rule_for(host, port, rule, sizeof(rule));
	return buffer_printf(out,
			     "  For every session of yours, in ~/.config/isod/policy.json:\n"
			     "    {\"sandbox\": {\"network\": {\"allowedDomains\": [\"%s\"]}}}\n",
			     rule);
}

static int append_address(struct buffer *out, const struct rules *rules, const struct policy_operand *host)
{
	int r = 0;

	if (!rules->pinned)
		return host->is_literal ? 0
					: buffer_append_string(out, "  Its address must be a public one, or one that a "
								    "rule names.\n");
	for (size_t i = 0; r == 0 && i < rules->pinned->array.count; i++)
		r = listing_append_origin(out, "  address", &rules->pinned->array.items[i]);
	return r;
}

static int append_verdict(struct buffer *out, const struct rules *rules, const struct policy_operand *host,
			  uint16_t port, const char *ports, const struct egress_verdict *v)
{
	const char *why = v->reason == EGRESS_DENIED ? rules->sources[v->rule].why : NULL;
	int r = buffer_printf(out, "host %s, %s: %s (%s)\n  %s\n", host->host, ports,
			      v->allowed ? "allowed" : "refused", egress_reason_name(v->reason),
			      egress_reason_text(v->reason));

	if (r == 0 && why) {
		r = buffer_append_string(out, "  Its owner says: ");
		if (r == 0)
			r = escape_append(out, why, strlen(why));
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	if (r == 0)
		r = append_rules(out, rules, host, port, v);
	if (r == 0)
		r = v->allowed ? append_address(out, rules, host) : append_remedy(out, host, port, v);
	if (r == 0 && v->allowed)
		r = policy_tls_append(out, rules->tls, host, port);
	return r;
}

int policy_host_append(struct buffer *out, const struct json_value *policy, const struct policy_operand *host,
		       struct error *e)
{
	_cleanup_rules_ struct rules rules = { .sources = NULL };
	uint16_t port = host->port ? host->port : 443;
	struct egress_verdict v, plain;
	char ports[32];
	int r = read_rules(policy, host->host, &rules, e);

	if (r < 0)
		return r;
	v = decide(&rules.egress, host, port);
	plain = decide(&rules.egress, host, 80);
	if (host->port == 0 && same(&v, &plain))
		snprintf(ports, sizeof(ports), "ports 443 and 80");
	else
		snprintf(ports, sizeof(ports), "port %u", port);
	r = append_verdict(out, &rules, host, port, ports, &v);
	if (r == 0 && host->port == 0 && !same(&v, &plain))
		r = append_verdict(out, &rules, host, 80, "port 80", &plain);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "output", NULL, "The answer is too long.") : 0;
}

static void write_rules(struct json_writer *w, const struct rules *rules, const struct policy_operand *host,
			uint16_t port, const struct egress_verdict *v)
{
	json_write_key(w, "rules");
	json_write_array(w);
	for (uint32_t i = 0; i < rules->egress.n_rules; i++) {
		const struct source *s = &rules->sources[i];
		const char *state = state_of(rules, i, host, port, v);

		if (!state)
			continue;
		json_write_object(w);
		json_write_member_string(w, "state", state);
		json_write_member_string(w, "key",
					 strcmp(s->key, "deniedDomains") == 0 ? "sandbox.network.deniedDomains"
									      : "sandbox.network.allowedDomains");
		json_write_member_string(w, "text", s->text);
		if (s->why)
			json_write_member_string(w, "why", s->why);
		json_write_key(w, "from");
		json_write_value(w, s->from);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}

static void write_verdict(struct json_writer *w, const struct rules *rules, const struct policy_operand *host,
			  uint16_t port)
{
	const struct egress_verdict v = decide(&rules->egress, host, port);
	char hint[EGRESS_HINT_MAX];

	egress_reason_hint(v.reason, "isoctl run", host->host, port, hint);
	json_write_object(w);
	json_write_member_integer(w, "port", port);
	json_write_member_bool(w, "allowed", v.allowed);
	json_write_member_string(w, "reason", egress_reason_name(v.reason));
	json_write_member_string(w, "message", egress_reason_text(v.reason));
	if (hint[0])
		json_write_member_string(w, "hint", hint);
	write_rules(w, rules, host, port, &v);
	json_write_key(w, "tls");
	policy_tls_write(w, rules->tls, host, port);
	json_write_object_end(w);
}

int policy_host_write(struct json_writer *w, const struct json_value *policy, const struct policy_operand *host,
		      struct error *e)
{
	_cleanup_rules_ struct rules rules = { .sources = NULL };
	int r = read_rules(policy, host->host, &rules, e);

	if (r < 0)
		return r;
	json_write_object(w);
	json_write_member_string(w, "kind", "host");
	json_write_member_string(w, "host", host->host);
	json_write_key(w, "verdicts");
	json_write_array(w);
	write_verdict(w, &rules, host, host->port ? host->port : 443);
	if (host->port == 0)
		write_verdict(w, &rules, host, 80);
	json_write_array_end(w);
	json_write_object_end(w);
	return 0;
}

int policy_host_check_grant(const struct json_value *policy, const char *text, char ret[EGRESS_RULE_TEXT_MAX],
			    struct error *e)
{
	_cleanup_rules_ struct rules rules = { .sources = NULL };
	struct egress_target t = { .port = 443 };
	struct egress_verdict v = { .reason = EGRESS_ALLOWED };
	struct egress_rule rule;
	int r = egress_rule_parse(text, false, &rule, e);

	if (r < 0)
		return r;
	egress_rule_format(&rule, ret);
	r = read_rules(policy, "", &rules, e);
	if (r == 0 && rule.kind != EGRESS_RULE_SUFFIX) {
		t = (struct egress_target){ .name = rule.name,
					    .family = rule.family,
					    .port = rule.port ? rule.port : 443 };
		memcpy(t.address, rule.address, sizeof(t.address));
		egress_decide(&rules.egress, &t, &v);
	}
	if (r == 0 && v.reason == EGRESS_DENIED)
		r = error_set(e, ERROR_REFUSED, EACCES, "grant", "isoctl policy explain says which rule it is.",
			      "A rule of the policy denies %s, and no grant changes that.", ret);
	egress_rule_done(&rule);
	return r;
}
