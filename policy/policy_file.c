#include "policy/policy_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json/printable.h"
#include "policy/policy_key.h"

/* "path:line: key". A path that is too long for that loses its beginning, not the key. */
static void format_step(const struct policy_builder *b, const struct policy_place *place, char ret[ERROR_STEP_MAX])
{
	const char *path = b->path[0] ? b->path : policy_layer_name(b->layer);
	char tail[POLICY_KEY_MAX + 16];
	size_t room, len = strlen(path);

	snprintf(tail, sizeof(tail), ":%u%s%s", place->line, place->key[0] ? ": " : "", place->key);
	room = ERROR_STEP_MAX - 1 - strlen(tail);
	if (len <= room)
		snprintf(ret, ERROR_STEP_MAX, "%s%s", path, tail);
	else
		snprintf(ret, ERROR_STEP_MAX, "...%s%s", path + len - (room - 3), tail);
}

int policy_refuse(const struct policy_builder *b, const struct policy_place *place, const char *remedy,
		  const char *format, ...)
{
	char step[ERROR_STEP_MAX], message[ERROR_MESSAGE_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	format_step(b, place, step);
	return error_set(b->error, ERROR_POLICY, EINVAL, step, remedy, "%s", message);
}

int policy_refuse_cause(const struct policy_builder *b, const struct policy_place *place, const struct error *cause)
{
	char step[ERROR_STEP_MAX];
	bool mistake = cause->code == ERROR_POLICY || cause->code == ERROR_INVALID || cause->code == ERROR_LIMIT;

	format_step(b, place, step);
	return error_set(b->error, mistake ? ERROR_POLICY : cause->code, cause->err, step, cause->remedy, "%s",
			 cause->message);
}

int policy_no_memory(const struct policy_builder *b)
{
	return error_set(b->error, ERROR_INTERNAL, ENOMEM, "", NULL, "There is no memory for the policy.");
}

struct policy_origin policy_builder_origin(const struct policy_builder *b, uint32_t line)
{
	return (struct policy_origin){ .layer = b->layer, .path = b->path, .line = line };
}

static int unknown_key(const struct policy_builder *b, const char *parent, const struct json_member *member,
		       const struct policy_place *place)
{
	const char *meant = policy_key_suggest(parent, member->name);
	char remedy[ERROR_REMEDY_MAX] = "";

	if (meant)
		snprintf(remedy, sizeof(remedy), "Did you mean \"%s\"?", meant);
	return policy_refuse(b, place, remedy, "There is an unknown key \"%s\".", json_printable(member->name).text);
}

static int read_object(const struct policy_builder *b, const char *parent, const struct json_value *object);

static int read_member(const struct policy_builder *b, const char *parent, const struct json_member *member)
{
	const struct policy_key *key = policy_key_find(parent, member->name);
	struct policy_place place = { .line = member->line };

	snprintf(place.key, sizeof(place.key), "%s%s%.40s", parent, parent[0] ? "." : "",
		 json_printable(member->name).text);
	if (!key)
		return unknown_key(b, parent, member, &place);
	if (key->read && policy_lend_check(b, key, &member->value, &place) < 0)
		return -EINVAL;
	if (key->read)
		return key->read(b, key, &member->value, &place);
	if (member->value.type != JSON_OBJECT)
		return policy_refuse(b, &place, NULL, "The value must be an object, not %s.",
				     json_type_name(member->value.type));
	return read_object(b, key->path, &member->value);
}

/* Recursion is bounded by the table of keys: four levels. */
static int read_object(const struct policy_builder *b, const char *parent, const struct json_value *object)
{
	for (size_t i = 0; i < object->object.count; i++) {
		int r = read_member(b, parent, &object->object.members[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* json_read() says "line N" where we say "path:N". */
static int refuse_text(const struct policy_builder *b, const struct error *cause)
{
	struct policy_place place = { .line = 1 };

	sscanf(cause->step, "line %u", &place.line);
	return policy_refuse_cause(b, &place, cause);
}

int policy_file_read(const struct policy_builder *b, const char *text, size_t len)
{
	_cleanup_json_ struct json_document document = JSON_DOCUMENT_INIT;
	const struct policy_place top = { .line = 1 };
	struct error cause = ERROR_INIT;

	if (len > LIMIT_POLICY_FILE)
		return policy_refuse(b, &top, NULL, "The policy is longer than %u bytes.", LIMIT_POLICY_FILE);
	if (json_read(text, len, JSON_COMMENTS, &document, &cause) < 0)
		return refuse_text(b, &cause);
	if (document.root->type != JSON_OBJECT)
		return policy_refuse(b, &top, NULL, "A policy must be an object, not %s.",
				     json_type_name(document.root->type));
	return read_object(b, "", document.root);
}
