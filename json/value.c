#include "json/value.h"

#include <string.h>

#include "base/arena.h"

void json_document_done(struct json_document *d)
{
	arena_free(d->arena);
	d->arena = NULL;
	d->root = NULL;
}

const struct json_value *json_get(const struct json_value *v, const char *name)
{
	if (!v || v->type != JSON_OBJECT)
		return NULL;
	for (size_t i = 0; i < v->object.count; i++)
		if (strcmp(v->object.members[i].name, name) == 0)
			return &v->object.members[i].value;
	return NULL;
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",         [JSON_BOOL] = "a boolean",  [JSON_INTEGER] = "an integer",
		[JSON_DOUBLE] = "a fraction", [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return (size_t)type < sizeof(names) / sizeof(names[0]) ? names[type] : "nothing known";
}
