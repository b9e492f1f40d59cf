/* network.budget and network.limits: bytes, connections open at a time, new ones in a second. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "json/printable.h"
#include "policy/egress_budget.h"
#include "policy/policy_key.h"

#define FORM "Write {\"host\": \"*.example.com\", \"bytesOut\": \"10M\", \"bytesIn\": \"2G\"}."

static int read_bytes(const struct policy_builder *b, const struct json_value *value, const struct policy_place *place,
		      uint64_t *ret)
{
	uint64_t n = policy_read_quantity(value, number_parse_size);

	if (n == 0 || n > INT64_MAX)
		return policy_refuse(b, place, "Write it as in 4096, \"512k\", \"10M\" or \"2G\".",
				     "The value must be a number of bytes of at least 1.");
	*ret = n;
	return 0;
}

int policy_read_budget(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		       const struct policy_place *place)
{
	uint64_t n = 0;
	int r = read_bytes(b, value, place, &n);

	if (r == 0)
		policy_merge_number(b, (struct policy_number *)((char *)b->policy + key->offset), n, place->line);
	return r;
}

int policy_read_exceeded(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			 const struct policy_place *place)
{
	const char *text = value->type == JSON_STRING ? value->string.data : "";

	if (strcmp(text, "stop") == 0)
		return 0;
	if (strcmp(text, "ask") == 0)
		return policy_refuse(b, place, "Write \"stop\", or remove the key.",
				     "This version does not enforce \"onExceeded\" as \"ask\" yet.");
	return policy_refuse(b, place, NULL, "The value must be \"stop\".");
}

struct entry {
	const char *host;
	uint64_t bytes[EGRESS_DIRECTION_COUNT];
};

static int read_member(const struct policy_builder *b, const struct policy_place *place,
		       const struct json_member *member, struct entry *ret)
{
	struct policy_place at = { .line = member->line };

	snprintf(at.key, sizeof(at.key), "%.44s.%.16s", place->key, json_printable(member->name).text);
	if (strcmp(member->name, "bytesOut") == 0)
		return read_bytes(b, &member->value, &at, &ret->bytes[EGRESS_OUT]);
	if (strcmp(member->name, "bytesIn") == 0)
		return read_bytes(b, &member->value, &at, &ret->bytes[EGRESS_IN]);
	if (strcmp(member->name, "onExceeded") == 0)
		return policy_read_exceeded(b, NULL, &member->value, &at);
	if (strcmp(member->name, "host") != 0)
		return policy_refuse(b, &at, FORM, "There is an unknown key \"%s\".",
				     json_printable(member->name).text);
	if (member->value.type != JSON_STRING)
		return policy_refuse(b, &at, NULL, "The value must be a string, not %s.",
				     json_type_name(member->value.type));
	ret->host = member->value.string.data;
	return 0;
}

/* The budget for these hosts, of an earlier layer or entry or a new one. */
static int get_budget(const struct policy_builder *b, const char *text, const struct policy_place *place,
		      struct policy_budget **ret)
{
	struct policy *p = b->policy;
	struct error cause = ERROR_INIT;
	struct egress_rule host;
	int r = egress_rule_parse(text, true, &host, &cause);

	if (r < 0)
		return policy_refuse_cause(b, place, &cause);
	for (size_t i = 0; i < p->n_budgets; i++)
		if (egress_budget_is_for(&p->egress.budgets[i], &host)) {
			egress_rule_done(&host);
			*ret = &p->budgets[i];
			return 0;
		}
	if (p->n_budgets == LIMIT_EGRESS_BUDGETS)
		r = policy_refuse(b, place, NULL, "There are budgets for more than %u hosts.", LIMIT_EGRESS_BUDGETS);
	else
		r = policy_budget_append(b, text, &host);
	if (r < 0)
		egress_rule_done(&host);
	else
		*ret = &p->budgets[p->n_budgets - 1];
	return r;
}

static int read_entry(const struct policy_builder *b, const struct json_value *item, const struct policy_place *place)
{
	struct policy_budget *budget = NULL;
	struct entry entry = { .host = NULL };
	int r = 0;

	if (item->type != JSON_OBJECT)
		return policy_refuse(b, place, FORM, "The value must be an object, not %s.",
				     json_type_name(item->type));
	for (size_t i = 0; r == 0 && i < item->object.count; i++)
		r = read_member(b, place, &item->object.members[i], &entry);
	if (r < 0)
		return r;
	if (!entry.host)
		return policy_refuse(b, place, FORM, "The object has no \"host\".");
	if (!entry.bytes[EGRESS_OUT] && !entry.bytes[EGRESS_IN])
		return policy_refuse(b, place, FORM, "The object has neither \"bytesOut\" nor \"bytesIn\".");
	r = get_budget(b, entry.host, place, &budget);
	if (r < 0)
		return r;
	for (int i = 0; i < EGRESS_DIRECTION_COUNT; i++)
		if (entry.bytes[i])
			policy_merge_number(b, &budget->bytes[i], entry.bytes[i], place->line);
	return 0;
}

int policy_read_budgets(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	if (value->type != JSON_ARRAY)
		return policy_refuse(b, place, NULL, "The value must be an array of objects, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->array.count; i++) {
		struct policy_place at = { .line = value->array.items[i].line };
		int r;

		snprintf(at.key, sizeof(at.key), "%.40s[%zu]", key->path, i);
		r = read_entry(b, &value->array.items[i], &at);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_count(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      uint64_t max, const struct policy_place *place)
{
	uint64_t n = policy_read_quantity(value, NULL);

	if (n == 0 || n > max)
		return policy_refuse(b, place, NULL, "The value must be an integer of 1 to %llu.",
				     (unsigned long long)max);
	policy_merge_number(b, (struct policy_number *)((char *)b->policy + key->offset), n, place->line);
	return 0;
}

int policy_read_connections(const struct policy_builder *b, const struct policy_key *key,
			    const struct json_value *value, const struct policy_place *place)
{
	return read_count(b, key, value, LIMIT_SESSION_CONNECTIONS, place);
}

int policy_read_rate(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		     const struct policy_place *place)
{
	return read_count(b, key, value, LIMIT_EGRESS_RATE, place);
}
