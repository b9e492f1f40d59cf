/* sandbox.filesystem: rules of paths and the switches of the file view; and "degraded", which is about it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "json/printable.h"
#include "policy/policy_key.h"
#include "view/path_pattern.h"

/* Every device that a driver opens to programs as they are; what reaches disks, memory or keyboards is not among them.
 */
static const char *const device_roots[] = { "dri", "kfd", "accel", "dxg" };
#define DEVICE_PREFIX "nvidia"

/* The first part of a pattern is a name, so that it is clear where to look. */
static bool begins_with_name(const char *pattern)
{
	char part[LIMIT_PATH];
	size_t n = 1 + strcspn(pattern + 1, "/");

	memcpy(part, pattern, n);
	part[n] = '\0';
	return path_pattern_is_literal(part);
}

static int check_form(const struct policy_builder *b, const struct policy_list *list, const char *text,
		      const char *pattern, const struct policy_place *place)
{
	if (list == &b->policy->overlay && !path_pattern_is_literal(pattern))
		return policy_refuse(b, place, "Name each folder.",
				     "\"%s\" is a pattern, and an overlay is one folder.", json_printable(text).text);
	if (list != &b->policy->deny_read && list != &b->policy->deny_write && !begins_with_name(pattern))
		return policy_refuse(b, place, "Begin with the folder to look in, as in \"~/src/*/data\".",
				     "\"%s\" would be looked for in the whole machine.", json_printable(text).text);
	return 0;
}

/* Expanded here only to find what is wrong with it: home and project are not known yet. */
static int read_path(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		     const struct policy_place *place)
{
	_cleanup_free_ char *path = NULL;
	char pattern[LIMIT_PATH];
	struct error cause = ERROR_INIT;
	int r = policy_read_bytes(b, item, place, &path);

	if (r < 0)
		return r;
	if (policy_path_expand(path, "/home", "/project", pattern, sizeof(pattern), &cause) < 0)
		return policy_refuse_cause(b, place, &cause);
	r = check_form(b, policy_list_of(b, key), path, pattern, place);
	return r < 0 ? r : policy_list_append(b, policy_list_of(b, key), path, place->line);
}

int policy_read_paths(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_path);
}

/* pattern: below /dev, of a known driver. */
static bool is_device(const char *pattern)
{
	const char *name = pattern + strlen("/dev/");
	size_t n;

	if (strncmp(pattern, "/dev/", strlen("/dev/")) != 0)
		return false;
	if (strncmp(name, DEVICE_PREFIX, strlen(DEVICE_PREFIX)) == 0)
		return true;
	n = strcspn(name, "/");
	for (size_t i = 0; i < ARRAY_SIZE(device_roots); i++)
		if (n == strlen(device_roots[i]) && memcmp(name, device_roots[i], n) == 0)
			return true;
	return false;
}

static int read_device(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		       const struct policy_place *place)
{
	_cleanup_free_ char *path = NULL;
	char pattern[LIMIT_PATH];
	int r = policy_read_bytes(b, item, place, &path);

	if (r < 0)
		return r;
	if (path[0] != '/' || policy_path_expand(path, NULL, NULL, pattern, sizeof(pattern), NULL) < 0 ||
	    !is_device(pattern))
		return policy_refuse(b, place,
				     "Devices are those below /dev/dri, /dev/nvidia*, /dev/kfd, /dev/accel, /dev/dxg.",
				     "\"%s\" is not a device that a session may have.", json_printable(path).text);
	return policy_list_append(b, policy_list_of(b, key), path, place->line);
}

int policy_read_devices(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_device);
}

/* strict: the value that stands once the administrator has said it. */
static int set_switch(const struct policy_builder *b, struct policy_switch *s, bool strict,
		      const struct json_value *value, const struct policy_place *place)
{
	if (value->type != JSON_BOOL)
		return policy_refuse(b, place, NULL, "The value must be true or false, not %s.",
				     json_type_name(value->type));
	if (s->origin.layer == POLICY_ADMINISTRATOR && s->on == strict)
		return 0;
	*s = (struct policy_switch){ .on = value->boolean, .origin = policy_builder_origin(b, place->line) };
	return 0;
}

static struct policy_switch *switch_of(const struct policy_builder *b, const struct policy_key *key)
{
	return (struct policy_switch *)((char *)b->policy + key->offset);
}

int policy_read_guard_switch(const struct policy_builder *b, const struct policy_key *key,
			     const struct json_value *value, const struct policy_place *place)
{
	return set_switch(b, switch_of(b, key), true, value, place);
}

int policy_read_grant_switch(const struct policy_builder *b, const struct policy_key *key,
			     const struct json_value *value, const struct policy_place *place)
{
	return set_switch(b, switch_of(b, key), false, value, place);
}

static int unknown_group(const struct policy_builder *b, const char *name, const struct policy_place *place)
{
	char remedy[ERROR_REMEDY_MAX];
	size_t n = (size_t)snprintf(remedy, sizeof(remedy), "The groups are");

	for (unsigned i = 1; i < PROTECT_GROUP_COUNT && n < sizeof(remedy); i++)
		n += (size_t)snprintf(remedy + n, sizeof(remedy) - n, "%s %s", i == 1 ? "" : ",",
				      protect_names[i].name);
	if (n + 1 < sizeof(remedy))
		snprintf(remedy + n, sizeof(remedy) - n, ".");
	return policy_refuse(b, place, remedy, "There is no protection \"%s\".", json_printable(name).text);
}

int policy_read_protect(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	if (value->type != JSON_OBJECT)
		return policy_refuse(b, place, NULL, "The value must be an object, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		struct policy_place at = { .line = member->line };
		unsigned group = PROTECT_NONE + 1;
		int r;

		snprintf(at.key, sizeof(at.key), "%s.%.30s", key->path, json_printable(member->name).text);
		while (group < PROTECT_GROUP_COUNT && strcmp(protect_names[group].name, member->name) != 0)
			group++;
		if (group == PROTECT_GROUP_COUNT)
			return unknown_group(b, member->name, &at);
		r = set_switch(b, &b->policy->protect[group], true, &member->value, &at);
		if (r < 0)
			return r;
	}
	return 0;
}

/* One of two words; *ret: the second one. */
static int read_word(const struct policy_builder *b, const struct json_value *value, const struct policy_place *place,
		     const char *no, const char *yes, bool *ret)
{
	const char *text = value->type == JSON_STRING ? value->string.data : "";

	*ret = strcmp(text, yes) == 0;
	if (*ret || strcmp(text, no) == 0)
		return 0;
	return policy_refuse(b, place, NULL, "The value must be \"%s\" or \"%s\".", no, yes);
}

int policy_read_late(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		     const struct policy_place *place)
{
	struct policy_switch *s = switch_of(b, key);
	bool require;
	int r = read_word(b, value, place, "report", "require", &require);

	if (r == 0 && (require || !s->on))
		*s = (struct policy_switch){ .on = require, .origin = policy_builder_origin(b, place->line) };
	return r;
}

int policy_read_degraded(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			 const struct policy_place *place)
{
	bool allow;
	int r;

	if (b->layer != POLICY_ADMINISTRATOR)
		return policy_refuse(b, place, "Ask the administrator to put it into /etc/isod/policy.json.",
				     "Only the administrator's policy may allow sessions that are less confined than "
				     "their rules say.");
	r = read_word(b, value, place, "refuse", "allow", &allow);
	if (r == 0)
		*switch_of(b, key) =
			(struct policy_switch){ .on = allow, .origin = policy_builder_origin(b, place->line) };
	return r;
}
