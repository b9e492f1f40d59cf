/* The values of a policy file that are lists and texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/bytes.h"
#include "json/printable.h"
#include "policy/environment.h"
#include "policy/policy_key.h"

#define SET_MAX 4096

int policy_read_array(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place, policy_item_fn *fn)
{
	if (value->type != JSON_ARRAY)
		return policy_refuse(b, place, NULL, "The value must be an array of strings, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->array.count; i++) {
		const struct json_value *item = &value->array.items[i];
		struct policy_place at = { .line = item->line };
		int r;

		snprintf(at.key, sizeof(at.key), "%.40s[%zu]", key->path, i);
		if (item->type != JSON_STRING)
			return policy_refuse(b, &at, NULL, "The value must be a string, not %s.",
					     json_type_name(item->type));
		r = fn(b, key, item, &at);
		if (r < 0)
			return r;
	}
	return 0;
}

struct policy_list *policy_list_of(const struct policy_builder *b, const struct policy_key *key)
{
	return (struct policy_list *)((char *)b->policy + key->offset);
}

/* Text that stands for bytes (json/bytes.h), on the heap. */
int policy_read_bytes(const struct policy_builder *b, const struct json_value *value, const struct policy_place *place,
		      char **ret)
{
	char *bytes = malloc(value->string.len + 1);

	if (!bytes)
		return policy_no_memory(b);
	if (json_bytes_decode(value->string.data, value->string.len, bytes) < 0) {
		free(bytes);
		return policy_refuse(b, place, NULL, "\"%s\" is not a valid text.",
				     json_printable(value->string.data).text);
	}
	*ret = bytes;
	return 0;
}

static int check_variable(const struct policy_builder *b, const char *name, const struct policy_place *place)
{
	if (environment_name_is_valid(name, strlen(name)))
		return 0;
	if (strchr(name, '*'))
		return policy_refuse(b, place, "Name each variable.", "\"%s\" is a pattern, and variables have none.",
				     json_printable(name).text);
	return policy_refuse(b, place, "Write letters, digits and \"_\", as in \"GH_TOKEN\".",
			     "\"%s\" is not the name of a variable.", json_printable(name).text);
}

static int read_variable(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
			 const struct policy_place *place)
{
	int r = check_variable(b, item->string.data, place);

	return r < 0 ? r : policy_list_append(b, policy_list_of(b, key), item->string.data, place->line);
}

int policy_read_pass(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		     const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_variable);
}

/* The later layer's value counts. */
static int set_variable(const struct policy_builder *b, const char *name, const char *value, uint32_t line)
{
	struct policy *p = b->policy;

	for (size_t i = 0; i < p->n_environment_set; i++) {
		struct policy_pair *pair = &p->environment_set[i];

		if (strcmp(pair->name, name) != 0)
			continue;
		pair->value = arena_copy(b->arena, value, strlen(value));
		pair->origin = policy_builder_origin(b, line);
		return pair->value ? 0 : policy_no_memory(b);
	}
	return policy_pair_append(b, &p->environment_set, &p->n_environment_set, name, value, line);
}

int policy_read_set(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		    const struct policy_place *place)
{
	if (value->type != JSON_OBJECT)
		return policy_refuse(b, place, NULL, "The value must be an object, not %s.",
				     json_type_name(value->type));
	if (value->object.count + b->policy->n_environment_set > SET_MAX)
		return policy_refuse(b, place, NULL, "There are more than %u variables.", SET_MAX);
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		struct policy_place at = { .line = member->line };
		_cleanup_free_ char *bytes = NULL;
		int r;

		snprintf(at.key, sizeof(at.key), "%s.%.40s", key->path, json_printable(member->name).text);
		r = check_variable(b, member->name, &at);
		if (r < 0)
			return r;
		if (member->value.type != JSON_STRING)
			return policy_refuse(b, &at, NULL, "The value must be a string, not %s.",
					     json_type_name(member->value.type));
		r = policy_read_bytes(b, &member->value, &at, &bytes);
		if (!bytes)
			return r;
		r = set_variable(b, member->name, bytes, member->line);
		if (r < 0)
			return r;
	}
	return 0;
}

int policy_read_later(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place)
{
	return policy_refuse(b, place, "Remove the key.", "This version does not enforce \"%s\" yet.", key->path);
}
