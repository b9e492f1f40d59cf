#include "json/write.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "json/utf8.h"
#include "json/value.h"

/* What may come next at one level: yajl_gen itself does not see a name in an array or a wrong end. */
enum place { PLACE_ITEM, PLACE_NAME, PLACE_MEMBER };

/* Three levels more than can be read: the envelope around a copied value. */
#define DEPTH_MAX (LIMIT_JSON_DEPTH + 4)

struct json_writer {
	struct buffer *out;
	size_t start; /* of our text in *out */
	yajl_gen gen;
	uint8_t places[DEPTH_MAX];
	size_t depth;
	bool begun; /* the one value of the text */
	int r;      /* first failure */
};

static void stick(struct json_writer *w, int r)
{
	if (r < 0 && w->r == 0)
		w->r = r;
}

static void print(void *ctx, const char *text, size_t len)
{
	struct json_writer *w = ctx;

	if (w->r == 0)
		stick(w, buffer_append(w->out, text, len));
}

static void check(struct json_writer *w, yajl_gen_status status)
{
	if (status != yajl_gen_status_ok)
		stick(w, -EINVAL);
}

struct json_writer *json_write_new(struct buffer *out)
{
	struct json_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->gen = yajl_gen_alloc(NULL);
	if (!w->gen) {
		free(w);
		return NULL;
	}
	yajl_gen_config(w->gen, yajl_gen_print_callback, print, w);
	w->out = out;
	w->start = out->len;
	return w;
}

int json_write_finish(struct json_writer *w)
{
	int r;

	if (!w)
		return -ENOMEM;
	if (!w->begun || w->depth > 0)
		stick(w, -EINVAL);
	r = w->r;
	if (r < 0)
		w->out->len = w->start;
	yajl_gen_free(w->gen);
	free(w);
	return r;
}

int json_write_finish_terminated(struct json_writer *w)
{
	if (w && w->r == 0)
		stick(w, buffer_append(w->out, "", 1));
	return json_write_finish(w);
}

/* True where a value may stand here; moves on. */
static bool value_begins(struct json_writer *w)
{
	if (!w || w->r < 0)
		return false;
	if (w->depth == 0) {
		if (w->begun)
			stick(w, -EINVAL);
		w->begun = true;
		return w->r == 0;
	}
	switch (w->places[w->depth - 1]) {
	case PLACE_ITEM:
		return true;
	case PLACE_MEMBER:
		w->places[w->depth - 1] = PLACE_NAME;
		return true;
	default:
		stick(w, -EINVAL);
		return false;
	}
}

static bool level_begins(struct json_writer *w, enum place place)
{
	if (!value_begins(w))
		return false;
	if (w->depth == DEPTH_MAX) {
		stick(w, -EINVAL);
		return false;
	}
	w->places[w->depth++] = (uint8_t)place;
	return true;
}

static bool level_ends(struct json_writer *w, enum place place)
{
	if (!w || w->r < 0)
		return false;
	if (w->depth == 0 || w->places[w->depth - 1] != place) {
		stick(w, -EINVAL);
		return false;
	}
	w->depth--;
	return true;
}

void json_write_object(struct json_writer *w)
{
	if (level_begins(w, PLACE_NAME))
		check(w, yajl_gen_map_open(w->gen));
}

void json_write_object_end(struct json_writer *w)
{
	if (level_ends(w, PLACE_NAME))
		check(w, yajl_gen_map_close(w->gen));
}

void json_write_array(struct json_writer *w)
{
	if (level_begins(w, PLACE_ITEM))
		check(w, yajl_gen_array_open(w->gen));
}

void json_write_array_end(struct json_writer *w)
{
	if (level_ends(w, PLACE_ITEM))
		check(w, yajl_gen_array_close(w->gen));
}

static bool is_utf8(const char *data, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_sequence(data + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

void json_write_key(struct json_writer *w, const char *name)
{
	size_t len = strlen(name);

	if (!w || w->r < 0)
		return;
	if (w->depth == 0 || w->places[w->depth - 1] != PLACE_NAME || !is_utf8(name, len)) {
		stick(w, -EINVAL);
		return;
	}
	w->places[w->depth - 1] = PLACE_MEMBER;
	check(w, yajl_gen_string(w->gen, (const unsigned char *)name, len));
}

void json_write_null(struct json_writer *w)
{
	if (value_begins(w))
		check(w, yajl_gen_null(w->gen));
}

void json_write_bool(struct json_writer *w, bool value)
{
	if (value_begins(w))
		check(w, yajl_gen_bool(w->gen, value));
}

void json_write_integer(struct json_writer *w, int64_t value)
{
	if (value_begins(w))
		check(w, yajl_gen_integer(w->gen, value));
}

/* The shortest form that reads back as the same number, and never as an integer. */
static void write_double(struct json_writer *w, double value)
{
	char text[40];
	int n = 0;

	if (!value_begins(w))
		return;
	if (!isfinite(value)) {
		stick(w, -EINVAL);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(text, sizeof(text) - 2, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	if (!strpbrk(text, ".e"))
		n += snprintf(text + n, sizeof(text) - (size_t)n, ".0");
	check(w, yajl_gen_number(w->gen, text, (size_t)n));
}

static const char hex_upper[] = "0123456789ABCDEF", hex_lower[] = "0123456789abcdef";

/* One plain byte of a string. yajl_gen's own escapes, so that a string looks the same whichever way it goes. */
static void escape_plain(struct buffer *b, char c)
{
	static const char letters[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
	const char *at = c ? strchr(letters, c) : NULL;

	if (at) {
		buffer_append(b, (const char[]){ '\\', escaped[at - letters] }, 2);
	} else if ((uint8_t)c < 0x20) {
		buffer_append(b, "\\u00", 4);
		buffer_append(b, (const char[]){ hex_upper[c >> 4], hex_upper[c & 0xf] }, 2);
	} else {
		buffer_append(b, &c, 1);
	}
}

static void escape_byte(struct buffer *b, uint8_t byte)
{
	buffer_append(b, "\\udc", 4);
	buffer_append(b, (const char[]){ hex_lower[byte >> 4], hex_lower[byte & 0xf] }, 2);
}

/* Six bytes for one at most, and the quotes. */
#define ESCAPED_ROOM 2
#define ESCAPED_MAX (6 * (size_t)LIMIT_MESSAGE + ESCAPED_ROOM)

/* A string that yajl_gen would pass on as bytes that are no JSON. tree: its escaped bytes are in tree form already. */
static void write_escaped(struct json_writer *w, const char *data, size_t len, bool tree)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(ESCAPED_MAX);
	int r = len > LIMIT_MESSAGE ? -EMSGSIZE : buffer_reserve(&b, 6 * len + ESCAPED_ROOM);

	stick(w, r);
	if (r < 0)
		return;
	buffer_append(&b, "\"", 1);
	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(data + i, len - i);
		uint8_t byte = tree ? utf8_escaped_byte(data + i, len - i) : (uint8_t)data[i];

		if (n == 1) {
			escape_plain(&b, data[i]);
		} else if (n > 1) {
			buffer_append(&b, data + i, n);
		} else if (byte >= 0x80) {
			escape_byte(&b, byte);
			n = tree ? 3 : 1;
		} else {
			stick(w, -EINVAL);
			return;
		}
		i += n;
	}
	buffer_append(&b, "\"", 1);
	/* To yajl_gen a number is text that goes out as it is. */
	check(w, yajl_gen_number(w->gen, b.data, b.len));
}

void json_write_bytes(struct json_writer *w, const char *data, size_t len)
{
	if (!value_begins(w))
		return;
	if (len > 0 && memchr(data, 0, len))
		stick(w, -EINVAL);
	else if (is_utf8(data, len))
		check(w, yajl_gen_string(w->gen, (const unsigned char *)data, len));
	else
		write_escaped(w, data, len, false);
}

void json_write_string(struct json_writer *w, const char *text)
{
	json_write_bytes(w, text, strlen(text));
}

void json_write_member_string(struct json_writer *w, const char *name, const char *text)
{
	json_write_key(w, name);
	json_write_string(w, text);
}

void json_write_member_integer(struct json_writer *w, const char *name, int64_t value)
{
	json_write_key(w, name);
	json_write_integer(w, value);
}

void json_write_member_bool(struct json_writer *w, const char *name, bool value)
{
	json_write_key(w, name);
	json_write_bool(w, value);
}

static void write_text(struct json_writer *w, const char *data, size_t len)
{
	if (is_utf8(data, len))
		json_write_bytes(w, data, len);
	else if (value_begins(w))
		write_escaped(w, data, len, true);
}

/* Recursion is bounded: a tree is at most LIMIT_JSON_DEPTH deep. */
void json_write_value(struct json_writer *w, const struct json_value *v)
{
	switch (v->type) {
	case JSON_NULL:
		json_write_null(w);
		break;
	case JSON_BOOL:
		json_write_bool(w, v->boolean);
		break;
	case JSON_INTEGER:
		json_write_integer(w, v->integer);
		break;
	case JSON_DOUBLE:
		write_double(w, v->number);
		break;
	case JSON_STRING:
		write_text(w, v->string.data, v->string.len);
		break;
	case JSON_ARRAY:
		json_write_array(w);
		for (size_t i = 0; i < v->array.count; i++)
			json_write_value(w, &v->array.items[i]);
		json_write_array_end(w);
		break;
	case JSON_OBJECT:
		json_write_object(w);
		for (size_t i = 0; i < v->object.count; i++) {
			json_write_key(w, v->object.members[i].name);
			json_write_value(w, &v->object.members[i].value);
		}
		json_write_object_end(w);
		break;
	}
}
