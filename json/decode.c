#include "json/decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/limits.h"
#include "base/arena.h"
#include "json/bytes.h"
#include "json/printable.h"
#include "json/utf8.h"

#define ITEMS_DEFAULT 65536

/* Where we are, from the inside out; made into text only for a message. */
struct place {
	const struct place *up;
	const char *name; /* of a member; NULL: an item of an array */
	size_t index;
};

struct decoder {
	struct arena *arena;
	struct error *e;
};

static size_t place_print(const struct place *p, char *ret, size_t size)
{
	size_t n = p->up ? place_print(p->up, ret, size) : 0;
	int r;

	if (n >= size - 1)
		return size - 1;
	if (p->name)
		r = snprintf(ret + n, size - n, "%s%s", n > 0 ? "." : "", json_printable(p->name).text);
	else
		r = snprintf(ret + n, size - n, "[%zu]", p->index);
	return n + (r > 0 ? (size_t)r : 0);
}

static int refuse(struct decoder *d, const struct place *p, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct decoder *d, const struct place *p, const char *format, ...)
{
	char path[ERROR_STEP_MAX] = "", text[ERROR_MESSAGE_MAX - ERROR_STEP_MAX - 4];
	va_list ap;

	place_print(p, path, sizeof(path));
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_set(d->e, ERROR_INVALID, EINVAL, path, NULL, "%s %s.", path, text);
}

static int refuse_type(struct decoder *d, const struct place *p, const struct json_value *v, enum json_type wanted)
{
	return refuse(d, p, "must be %s, not %s", json_type_name(wanted), json_type_name(v->type));
}

static int64_t text_max(const struct json_field *f)
{
	return f->max > 0 ? f->max : LIMIT_PATH;
}

static int decode_integer(struct decoder *d, const struct place *p, const struct json_value *v,
			  const struct json_field *f, void *slot)
{
	if (v->type != JSON_INTEGER)
		return refuse_type(d, p, v, JSON_INTEGER);
	if (v->integer < f->min || v->integer > f->max)
		return refuse(d, p, "must be from %lld to %lld", (long long)f->min, (long long)f->max);
	memcpy(slot, &v->integer, sizeof(v->integer));
	return 0;
}

static int decode_bool(struct decoder *d, const struct place *p, const struct json_value *v, const struct json_field *f,
		       void *slot)
{
	if (v->type != JSON_BOOL)
		return refuse_type(d, p, v, JSON_BOOL);
	memcpy(slot, &v->boolean, sizeof(v->boolean));
	return 0;
}

/* The only strings of a tree that are not UTF-8 are those with escaped bytes. */
static bool has_escaped_bytes(const struct json_value *v)
{
	for (size_t i = 0, n; i < v->string.len; i += n) {
		n = utf8_sequence(v->string.data + i, v->string.len - i);
		if (n == 0)
			return true;
	}
	return false;
}

/* max 0: the size of the text is bound enough. */
static int decode_text(struct decoder *d, const struct place *p, const struct json_value *v, bool bytes, int64_t max,
		       const char **ret)
{
	size_t len;
	char *copy;
	long r;

	if (v->type != JSON_STRING)
		return refuse_type(d, p, v, JSON_STRING);
	len = v->string.len;
	*ret = v->string.data;
	if (has_escaped_bytes(v)) {
		if (!bytes)
			return refuse(d, p, "must be valid UTF-8");
		copy = arena_copy(&d->arena, v->string.data, len);
		if (!copy)
			return -ENOMEM;
		r = json_bytes_decode(copy, len, copy);
		if (r < 0)
			return refuse(d, p, "holds an escaped byte that needs no escape");
		len = (size_t)r;
		*ret = copy;
	}
	if (max > 0 && len > (uint64_t)max)
		return refuse(d, p, "is longer than %lld bytes", (long long)max);
	return 0;
}

static int decode_string(struct decoder *d, const struct place *p, const struct json_value *v,
			 const struct json_field *f, void *slot)
{
	return decode_text(d, p, v, f->type == JSON_FIELD_BYTES, text_max(f), slot);
}

static int check_items(struct decoder *d, const struct place *p, const struct json_value *v, const struct json_field *f)
{
	int64_t max = f->max > 0 ? f->max : ITEMS_DEFAULT;

	if (v->type != JSON_ARRAY)
		return refuse_type(d, p, v, JSON_ARRAY);
	if (v->array.count > (uint64_t)max)
		return refuse(d, p, "has more than %lld items", (long long)max);
	return 0;
}

static int decode_strings(struct decoder *d, const struct place *p, const struct json_value *v,
			  const struct json_field *f, void *slot)
{
	struct json_strings *ret = slot;
	const char **items;
	int r = check_items(d, p, v, f);

	if (r < 0)
		return r;
	items = arena_alloc(&d->arena, (v->array.count + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < v->array.count; i++) {
		struct place item = { .up = p, .index = i };

		r = decode_text(d, &item, &v->array.items[i], f->type == JSON_FIELD_BYTES_ARRAY, 0, &items[i]);
		if (r < 0)
			return r;
	}
	items[v->array.count] = NULL;
	ret->items = items;
	ret->count = v->array.count;
	return 0;
}

static int decode_object(struct decoder *d, const struct place *p, const struct json_value *v,
			 const struct json_schema *schema, void *out);

static int decode_nested(struct decoder *d, const struct place *p, const struct json_value *v,
			 const struct json_field *f, void *slot)
{
	return decode_object(d, p, v, f->schema, slot);
}

static int decode_objects(struct decoder *d, const struct place *p, const struct json_value *v,
			  const struct json_field *f, void *slot)
{
	struct json_objects *ret = slot;
	size_t size = f->schema->size;
	char *items;
	int r = check_items(d, p, v, f);

	if (r < 0)
		return r;
	items = arena_alloc(&d->arena, v->array.count * size);
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < v->array.count; i++) {
		struct place item = { .up = p, .index = i };

		r = decode_object(d, &item, &v->array.items[i], f->schema, items + i * size);
		if (r < 0)
			return r;
	}
	ret->items = items;
	ret->count = v->array.count;
	return 0;
}

static int decode_any(struct decoder *d, const struct place *p, const struct json_value *v, const struct json_field *f,
		      void *slot)
{
	*(const struct json_value **)slot = v;
	return 0;
}

typedef int (*decode_fn)(struct decoder *d, const struct place *p, const struct json_value *v,
			 const struct json_field *f, void *slot);

static const decode_fn decoders[] = {
	[JSON_FIELD_BOOL] = decode_bool,
	[JSON_FIELD_INTEGER] = decode_integer,
	[JSON_FIELD_STRING] = decode_string,
	[JSON_FIELD_BYTES] = decode_string,
	[JSON_FIELD_BYTES_ARRAY] = decode_strings,
	[JSON_FIELD_STRING_ARRAY] = decode_strings,
	[JSON_FIELD_OBJECT] = decode_nested,
	[JSON_FIELD_OBJECT_ARRAY] = decode_objects,
	[JSON_FIELD_ANY] = decode_any,
};

static const struct json_field *find_field(const struct json_schema *schema, const char *name)
{
	for (size_t i = 0; i < schema->n_fields; i++)
		if (strcmp(schema->fields[i].name, name) == 0)
			return &schema->fields[i];
	return NULL;
}

/* Recursion follows the schemas, which do not contain themselves. */
static int decode_object(struct decoder *d, const struct place *p, const struct json_value *v,
			 const struct json_schema *schema, void *out)
{
	memset(out, 0, schema->size);
	if (v->type != JSON_OBJECT)
		return refuse_type(d, p, v, JSON_OBJECT);
	for (size_t i = 0; i < v->object.count; i++) {
		const struct json_member *m = &v->object.members[i];
		const struct json_field *f = find_field(schema, m->name);
		struct place member = { .up = p, .name = m->name };
		int r;

		if (!f)
			return refuse(d, &member, "is not known here");
		if (m->value.type == JSON_NULL && !f->required && f->type != JSON_FIELD_ANY)
			continue;
		r = decoders[f->type](d, &member, &m->value, f, (char *)out + f->offset);
		if (r < 0)
			return r;
		if (f->present_offset > 0)
			*((bool *)((char *)out + f->present_offset)) = true;
	}
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct json_field *f = &schema->fields[i];
		struct place member = { .up = p, .name = f->name };

		if (f->required && !json_get(v, f->name))
			return refuse(d, &member, "is missing");
	}
	return 0;
}

int json_decode(const struct json_value *v, const struct json_schema *schema, const char *path, void *out,
		struct json_decoded *ret, struct error *e)
{
	struct place root = { .name = path };
	struct decoder d = { .e = e };
	int r = decode_object(&d, &root, v, schema, out);

	if (r < 0) {
		arena_free(d.arena);
		memset(out, 0, schema->size);
		return r;
	}
	ret->arena = d.arena;
	return 0;
}

void json_decoded_done(struct json_decoded *d)
{
	arena_free(d->arena);
	d->arena = NULL;
}
