#include "json/value.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/arena.h"
#include "json/printable.h"
#include "json/scan.h"

/* The largest double takes 309 digits, the most exact one 767: nobody means more. */
#define NUMBER_MAX 800

/*
 * Values wait in one growing stack until their array or object ends; then they are copied to the arena, side by side.
 * The array or object itself is the entry below them.
 */
struct frame {
	size_t self;
	bool object;
};

struct reader {
	yajl_handle yajl;
	const char *text;
	size_t len;
	char *copy;     /* of the text, where comments are taken out of it */
	size_t counted; /* line ends before this offset are in line */
	uint32_t line;
	struct arena *arena;
	struct json_member *pending;
	size_t n_pending;
	size_t size_pending;
	struct frame frames[LIMIT_JSON_DEPTH];
	size_t depth;
	size_t n_values;
	int r; /* the failure that stopped it */
	struct error *e;
};

static int fail(struct reader *rd, enum error_code code, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Records a failure at the current line. Returns 0: what a yajl callback returns to stop the parser. */
static int fail(struct reader *rd, enum error_code code, int err, const char *format, ...)
{
	char step[32], message[ERROR_MESSAGE_MAX - 32];
	va_list ap;

	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	snprintf(step, sizeof(step), "line %u", rd->line);
	rd->r = error_set(rd->e, code, err, step, NULL, "%s: %s.", step, message);
	return 0;
}

static int fail_memory(struct reader *rd)
{
	return fail(rd, ERROR_INTERNAL, ENOMEM, "out of memory");
}

static void count_lines(struct reader *rd, size_t offset)
{
	while (rd->counted < offset) {
		const char *from = rd->text + rd->counted, *end = memchr(from, '\n', offset - rd->counted);

		if (!end) {
			rd->counted = offset;
			return;
		}
		rd->line++;
		rd->counted = end + 1 - rd->text;
	}
}

/* No token spans lines, so the line of its end is the line of its beginning. */
static void count_token(struct reader *rd)
{
	size_t offset = yajl_get_bytes_consumed(rd->yajl);

	count_lines(rd, offset < rd->len ? offset : rd->len);
}

static struct json_member *push(struct reader *rd)
{
	struct json_member *m;

	if (rd->n_pending == rd->size_pending) {
		size_t size = rd->size_pending ? rd->size_pending * 2 : 32;

		m = reallocarray(rd->pending, size, sizeof(*m));
		if (!m) {
			fail_memory(rd);
			return NULL;
		}
		rd->pending = m;
		rd->size_pending = size;
	}
	m = &rd->pending[rd->n_pending++];
	*m = (struct json_member){ .line = rd->line };
	return m;
}

/* Where the next value goes: beside the name that came before it, or on top. */
static struct json_value *next_value(struct reader *rd, enum json_type type)
{
	bool named = rd->depth > 0 && rd->frames[rd->depth - 1].object;
	struct json_member *m;

	count_token(rd);
	if (++rd->n_values > LIMIT_JSON_VALUES) {
		fail(rd, ERROR_LIMIT, E2BIG, "more than %d values", LIMIT_JSON_VALUES);
		return NULL;
	}
	m = named ? &rd->pending[rd->n_pending - 1] : push(rd);
	if (!m)
		return NULL;
	m->value.type = type;
	m->value.line = rd->line;
	return &m->value;
}

static int on_null(void *ctx)
{
	return next_value(ctx, JSON_NULL) != NULL;
}

static int on_boolean(void *ctx, int boolean)
{
	struct json_value *v = next_value(ctx, JSON_BOOL);

	if (!v)
		return 0;
	v->boolean = boolean;
	return 1;
}

static int on_number(void *ctx, const char *text, size_t len)
{
	struct reader *rd = ctx;
	struct json_value *v = next_value(rd, JSON_INTEGER);
	char copy[NUMBER_MAX + 1];

	if (!v)
		return 0;
	if (len > NUMBER_MAX)
		return fail(rd, ERROR_INVALID, EBADMSG, "a number of %zu characters", len);
	memcpy(copy, text, len);
	copy[len] = '\0';
	errno = 0;
	if (strpbrk(copy, ".eE")) {
		v->type = JSON_DOUBLE;
		v->number = strtod(copy, NULL);
		if (!isfinite(v->number))
			return fail(rd, ERROR_INVALID, EBADMSG, "the number %.32s is too large", copy);
		return 1;
	}
	v->integer = strtoll(copy, NULL, 10);
	if (errno == ERANGE)
		return fail(rd, ERROR_INVALID, EBADMSG, "the number %.32s does not fit 64 bits", copy);
	return 1;
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	struct reader *rd = ctx;
	struct json_value *v = next_value(rd, JSON_STRING);

	if (!v)
		return 0;
	v->string.data = arena_copy(&rd->arena, (const char *)text, len);
	v->string.len = len;
	return v->string.data ? 1 : fail_memory(rd);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	struct reader *rd = ctx;
	struct json_member *m;
	size_t at;

	count_token(rd);
	if (json_scan_utf8((const char *)text, len, &at))
		return fail(rd, ERROR_INVALID, EBADMSG, "a member's name is not valid UTF-8");
	m = push(rd);
	if (!m)
		return 0;
	m->name = arena_copy(&rd->arena, (const char *)text, len);
	return m->name ? 1 : fail_memory(rd);
}

static int open_frame(struct reader *rd, enum json_type type)
{
	struct json_value *v = next_value(rd, type);

	if (!v)
		return 0;
	if (rd->depth == LIMIT_JSON_DEPTH)
		return fail(rd, ERROR_LIMIT, E2BIG, "nested deeper than %d", LIMIT_JSON_DEPTH);
	rd->frames[rd->depth++] = (struct frame){ .self = rd->n_pending - 1, .object = type == JSON_OBJECT };
	return 1;
}

static int on_object(void *ctx)
{
	return open_frame(ctx, JSON_OBJECT);
}

static int on_array(void *ctx)
{
	return open_frame(ctx, JSON_ARRAY);
}

static int on_array_end(void *ctx)
{
	struct reader *rd = ctx;
	size_t self = rd->frames[--rd->depth].self, count = rd->n_pending - self - 1;
	struct json_value *v = &rd->pending[self].value, *items = NULL;

	if (count > 0) {
		items = arena_alloc(&rd->arena, count * sizeof(*items));
		if (!items)
			return fail_memory(rd);
	}
	for (size_t i = 0; i < count; i++)
		items[i] = rd->pending[self + 1 + i].value;
	v->array.items = items;
	v->array.count = count;
	rd->n_pending = self + 1;
	return 1;
}

struct named_line {
	const char *name;
	uint32_t line;
};

static int compare_names(const void *a, const void *b)
{
	const struct named_line *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* Sorted, so that an object of 100,000 members costs no more than its share. */
static int refuse_duplicates(struct reader *rd, const struct json_member *members, size_t count)
{
	_cleanup_free_ struct named_line *sorted = reallocarray(NULL, count, sizeof(*sorted));

	if (!sorted)
		return fail_memory(rd);
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct named_line){ .name = members[i].name, .line = members[i].line };
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(sorted[i - 1].name, sorted[i].name) != 0)
			continue;
		rd->line = sorted[i].line;
		return fail(rd, ERROR_INVALID, EBADMSG, "the member \"%s\" is there twice",
			    json_printable(sorted[i].name).text);
	}
	return 1;
}

static int on_object_end(void *ctx)
{
	struct reader *rd = ctx;
	size_t self = rd->frames[--rd->depth].self, count = rd->n_pending - self - 1;
	struct json_value *v = &rd->pending[self].value;
	struct json_member *members = NULL;

	if (count > 0) {
		if (!refuse_duplicates(rd, &rd->pending[self + 1], count))
			return 0;
		members = arena_alloc(&rd->arena, count * sizeof(*members));
		if (!members)
			return fail_memory(rd);
		memcpy(members, &rd->pending[self + 1], count * sizeof(*members));
	}
	v->object.members = members;
	v->object.count = count;
	rd->n_pending = self + 1;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_object_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

/* yajl's own sentence, without its end. */
static void fail_syntax(struct reader *rd)
{
	unsigned char *why = yajl_get_error(rd->yajl, 0, (const unsigned char *)rd->text, rd->len);

	count_token(rd);
	fail(rd, ERROR_INVALID, EBADMSG, "%.*s", why ? (int)strcspn((char *)why, ".\n") : 12,
	     why ? (char *)why : "syntax error");
	if (why)
		yajl_free_error(rd->yajl, why);
}

static int parse(struct reader *rd)
{
	yajl_status status = yajl_parse(rd->yajl, (const unsigned char *)rd->text, rd->len);

	if (status == yajl_status_ok) {
		count_lines(rd, rd->len); /* a number at the very end is only reported now */
		status = yajl_complete_parse(rd->yajl);
	}
	if (status == yajl_status_error)
		fail_syntax(rd);
	return rd->r;
}

static int scan(struct reader *rd, unsigned flags)
{
	size_t at = 0;
	const char *why = json_scan_utf8(rd->text, rd->len, &at);

	if (!why && (flags & JSON_COMMENTS)) {
		rd->copy = malloc(rd->len + 1);
		if (!rd->copy) {
			fail_memory(rd);
			return rd->r;
		}
		memcpy(rd->copy, rd->text, rd->len);
		rd->text = rd->copy;
		why = json_scan_comments(rd->copy, rd->len, &at);
	}
	if (!why)
		why = json_scan_escapes(rd->text, rd->len, &at);
	if (!why)
		return 0;
	count_lines(rd, at);
	fail(rd, ERROR_INVALID, EBADMSG, "%s", why);
	return rd->r;
}

static void reader_done(struct reader *rd)
{
	if (rd->yajl)
		yajl_free(rd->yajl);
	free(rd->pending);
	free(rd->copy);
	arena_free(rd->arena);
}

int json_read(const char *text, size_t len, unsigned flags, struct json_document *ret, struct error *e)
{
	__attribute__((cleanup(reader_done))) struct reader rd = { .text = text, .len = len, .line = 1, .e = e };
	struct json_value *root;

	if (len > LIMIT_MESSAGE) {
		fail(&rd, ERROR_LIMIT, E2BIG, "the text is longer than %u bytes", LIMIT_MESSAGE);
		return rd.r;
	}
	if (scan(&rd, flags) < 0)
		return rd.r;
	rd.counted = 0;
	rd.yajl = yajl_alloc(&callbacks, NULL, &rd);
	if (!rd.yajl)
		return -ENOMEM;
	if (parse(&rd) < 0)
		return rd.r;
	root = arena_alloc(&rd.arena, sizeof(*root));
	if (!root)
		return -ENOMEM;
	*root = rd.pending[0].value;
	ret->root = root;
	ret->arena = take_ptr(rd.arena);
	return 0;
}
