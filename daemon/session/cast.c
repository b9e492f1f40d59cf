#include "daemon/session/cast.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* How long the character is that begins with c; 0: none does. */
static unsigned length_of(uint8_t c)
{
	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Whether c can follow what is held: the second byte tells overlong forms, surrogates and the end of the range. */
static bool continues(const struct cast_text *t, uint8_t c)
{
	uint8_t low = 0x80, high = 0xbf;

	if (t->n == 1) {
		low = t->held[0] == 0xe0 ? 0xa0 : t->held[0] == 0xf0 ? 0x90 : low;
		high = t->held[0] == 0xed ? 0x9f : t->held[0] == 0xf4 ? 0x8f : high;
	}
	return c >= low && c <= high;
}

static char *put(char *at, const void *data, size_t n)
{
	memcpy(at, data, n);
	return at + n;
}

static char *put_ascii(char *at, uint8_t c)
{
	static const char digits[] = "0123456789abcdef";

	switch (c) {
	case '"':
		return put(at, "\\\"", 2);
	case '\\':
		return put(at, "\\\\", 2);
	case '\n':
		return put(at, "\\n", 2);
	case '\r':
		return put(at, "\\r", 2);
	case '\t':
		return put(at, "\\t", 2);
	default:
		break;
	}
	/* DEL needs no escape; a reader of the file is happier with one. */
	if (c >= 0x20 && c != 0x7f) {
		*at = (char)c;
		return at + 1;
	}
	at = put(at, "\\u00", 4);
	*at++ = digits[c >> 4];
	*at++ = digits[c & 15];
	return at;
}

static char *put_byte(char *at, struct cast_text *t, uint8_t c)
{
	if (t->n > 0 && !continues(t, c)) {
		at = put(at, REPLACEMENT, 3);
		t->n = 0;
	}
	if (t->n == 0) {
		unsigned len = length_of(c);

		if (len == 0)
			return put(at, REPLACEMENT, 3);
		if (len == 1)
			return put_ascii(at, c);
	}
	t->held[t->n++] = c;
	if (t->n < length_of(t->held[0]))
		return at;
	at = put(at, t->held, t->n);
	t->n = 0;
	return at;
}

/* The front of an event's line; its length. */
static int front(char ret[64], uint64_t us, char kind)
{
	return snprintf(ret, 64, "[%" PRIu64 ".%06" PRIu64 ", \"%c\", \"", us / 1000000, us % 1000000, kind);
}

static char *put_all(char *at, struct cast_text *t, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* Most of what a terminal carries stands for itself. */
		if (t->n == 0 && data[i] >= 0x20 && data[i] < 0x7f && data[i] != '"' && data[i] != '\\')
			*at++ = (char)data[i];
		else
			at = put_byte(at, t, data[i]);
	}
	return at;
}

static int append(struct buffer *out, struct cast_text *text, uint64_t us, char kind, const void *data, size_t n,
		  bool ends)
{
	struct cast_text t = *text;
	char *begin, *start, *at;
	int r = buffer_reserve(out, CAST_LINE_MAX(n));

	if (r < 0)
		return r;
	begin = out->data + out->len;
	start = at = begin + front(begin, us, kind);
	at = put_all(at, &t, data, n);
	if (ends && t.n > 0) {
		at = put(at, REPLACEMENT, 3);
		t.n = 0;
	}
	*text = t;
	if (at == start)
		return 0;
	at = put(at, "\"]\n", 3);
	out->len += (size_t)(at - begin);
	return 0;
}

int cast_append(struct buffer *out, struct cast_text *text, uint64_t us, char kind, const void *data, size_t n)
{
	return append(out, text, us, kind, data, n, false);
}

int cast_append_rest(struct buffer *out, struct cast_text *text, uint64_t us, char kind)
{
	return append(out, text, us, kind, "", 0, true);
}

int cast_marker(struct buffer *out, uint64_t us, const char *label)
{
	struct cast_text text = { .n = 0 };

	return append(out, &text, us, 'm', label, strlen(label), true);
}

int cast_resize(struct buffer *out, uint64_t us, uint16_t rows, uint16_t columns)
{
	char size[16];

	snprintf(size, sizeof(size), "%ux%u", columns, rows);
	return append(out, &(struct cast_text){ .n = 0 }, us, 'r', size, strlen(size), true);
}

int cast_header(struct buffer *out, uint16_t rows, uint16_t columns, int64_t unix_time, const char *title)
{
	return buffer_printf(
		out, "{\"version\": 2, \"width\": %u, \"height\": %u, \"timestamp\": %" PRId64 ", \"title\": \"%s\"}\n",
		columns, rows, unix_time, title);
}
