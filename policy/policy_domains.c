/* allowedDomains and deniedDomains: texts, and denials that say why: {"host": "...", "reason": "..."}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/printable.h"
#include "policy/policy_key.h"

#define FORM "Write {\"host\": \"*.example.com\", \"reason\": \"what your users should know\"}."

struct entry {
	const char *host;
	const char *why; /* NULL */
};

/* A member of the object, a string. */
static int read_member(const struct policy_builder *b, const struct policy_place *place,
		       const struct json_member *member, struct entry *ret)
{
	const char **to = strcmp(member->name, "host") == 0     ? &ret->host
			  : strcmp(member->name, "reason") == 0 ? &ret->why
								: NULL;
	struct policy_place at = { .line = member->line };

	snprintf(at.key, sizeof(at.key), "%.44s.%.16s", place->key, json_printable(member->name).text);
	if (!to)
		return policy_refuse(b, &at, FORM, "There is an unknown key \"%s\".",
				     json_printable(member->name).text);
	if (member->value.type != JSON_STRING)
		return policy_refuse(b, &at, NULL, "The value must be a string, not %s.",
				     json_type_name(member->value.type));
	*to = member->value.string.data;
	if (to == &ret->why && member->value.string.len > LIMIT_DENY_REASON)
		return policy_refuse(b, &at, NULL, "The reason is longer than %u bytes.", LIMIT_DENY_REASON);
	if (to == &ret->why && !egress_why_is_valid(ret->why))
		return policy_refuse(b, &at, "Write one line of plain text.",
				     "The reason is empty, or has characters that cannot be seen.");
	return 0;
}

static int read_entry(const struct policy_builder *b, const struct json_value *item, bool deny,
		      const struct policy_place *place, struct entry *ret)
{
	*ret = (struct entry){ .why = NULL };
	if (item->type == JSON_STRING) {
		ret->host = item->string.data;
		return 0;
	}
	if (item->type != JSON_OBJECT)
		return policy_refuse(b, place, NULL, "The value must be a string, not %s.", json_type_name(item->type));
	if (!deny)
		return policy_refuse(b, place, "Write the host as a string.",
				     "Only an entry of deniedDomains may be an object with a reason.");
	for (size_t i = 0; i < item->object.count; i++) {
		int r = read_member(b, place, &item->object.members[i], ret);

		if (r < 0)
			return r;
	}
	if (!ret->host || !ret->why)
		return policy_refuse(b, place, FORM, "The object has no \"%s\".", ret->host ? "reason" : "host");
	return 0;
}

static int append_rule(const struct policy_builder *b, struct egress_rule *rule, const char *why)
{
	int r;

	rule->why = why ? strdup(why) : NULL;
	r = why && !rule->why ? policy_no_memory(b) : policy_rule_append(b, rule);
	if (r < 0)
		egress_rule_done(rule);
	return r;
}

static int read_domain(const struct policy_builder *b, struct policy_list *list, const struct json_value *item,
		       const struct policy_place *place)
{
	bool deny = list == &b->policy->denied_domains;
	struct error cause = ERROR_INIT;
	struct egress_rule rule;
	struct entry entry;
	int r;

	if (b->policy->egress.n_rules == LIMIT_EGRESS_RULES)
		return policy_refuse(b, place, NULL, "There are more than %u rules.", LIMIT_EGRESS_RULES);
	r = read_entry(b, item, deny, place, &entry);
	if (r < 0)
		return r;
	if (egress_rule_parse(entry.host, deny, &rule, &cause) < 0)
		return policy_refuse_cause(b, place, &cause);
	r = append_rule(b, &rule, entry.why);
	if (r == 0)
		r = policy_list_append(b, list, entry.host, place->line);
	if (r == 0 && entry.why) {
		struct policy_text *text = &list->items[list->count - 1];

		text->why = arena_copy(b->arena, entry.why, strlen(entry.why));
		r = text->why ? 0 : policy_no_memory(b);
	}
	return r;
}

int policy_read_domains(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	if (value->type != JSON_ARRAY)
		return policy_refuse(b, place, NULL, "The value must be an array of strings, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->array.count; i++) {
		struct policy_place at = { .line = value->array.items[i].line };
		int r;

		snprintf(at.key, sizeof(at.key), "%.40s[%zu]", key->path, i);
		r = read_domain(b, policy_list_of(b, key), &value->array.items[i], &at);
		if (r < 0)
			return r;
	}
	return 0;
}
