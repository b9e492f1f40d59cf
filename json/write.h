#ifndef ISOD_JSON_WRITE_H
#define ISOD_JSON_WRITE_H
/*
 * JSON text from calls, by yajl_gen (json/write.c is its only user), compact, one line. Errors stick:
 * json_write_finish() reports the first. Strings that are not valid UTF-8 are written reversibly, see json/bytes.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct json_writer;

/* Appends to *out, which must outlive the writer. NULL: no memory. */
struct json_writer *json_write_new(struct buffer *out);
/*
 * Frees it; 0 or the first error (-EINVAL for a wrong nesting, -EMSGSIZE, -ENOMEM). *out is then as it was before
 * json_write_new(). NULL is allowed (-ENOMEM), here and in all calls below, which do nothing then.
 */
int json_write_finish(struct json_writer *w);
/* The same, with a NUL after the text. */
int json_write_finish_terminated(struct json_writer *w);

void json_write_object(struct json_writer *w);
void json_write_object_end(struct json_writer *w);
void json_write_array(struct json_writer *w);
void json_write_array_end(struct json_writer *w);
void json_write_key(struct json_writer *w, const char *name);
void json_write_null(struct json_writer *w);
void json_write_bool(struct json_writer *w, bool value);
void json_write_integer(struct json_writer *w, int64_t value);
/* Any bytes but NUL: the form of json/bytes.h. */
void json_write_bytes(struct json_writer *w, const char *data, size_t len);
void json_write_string(struct json_writer *w, const char *text);

/* key + value in one call */
void json_write_member_string(struct json_writer *w, const char *name, const char *text);
void json_write_member_integer(struct json_writer *w, const char *name, int64_t value);
void json_write_member_bool(struct json_writer *w, const char *name, bool value);

/* Copies a value of a tree. */
struct json_value;
void json_write_value(struct json_writer *w, const struct json_value *value);

#endif
