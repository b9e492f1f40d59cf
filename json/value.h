#ifndef ISOD_JSON_VALUE_H
#define ISOD_JSON_VALUE_H
/*
 * A bounded, immutable JSON value tree and its reader. Built on yajl's streaming API (json/read.c is the only file that
 * includes its parser): depth, number of values and text size are bounded (base/limits.h), duplicate keys, NUL in
 * strings and keys, invalid UTF-8 and trailing text are refused, numbers must be integers of 64 bits or finite doubles.
 * Destruction does not recurse: all memory of a tree is one arena.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_INTEGER, JSON_DOUBLE, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_member;

struct json_value {
	enum json_type type;
	uint32_t line; /* 1-based line of the text where the value begins */
	union {
		bool boolean;
		int64_t integer;
		double number;
		struct {
			const char *data; /* terminated UTF-8 without NUL */
			size_t len;
		} string;
		struct {
			const struct json_value *items;
			size_t count;
		} array;
		struct {
			const struct json_member *members; /* in the order of the text */
			size_t count;
		} object;
	};
};

struct json_member {
	const char *name;
	uint32_t line;
	struct json_value value;
};

enum json_read_flags {
	JSON_COMMENTS = 1 << 0, /* // and / * * / are skipped: policy files only, never the protocol */
};

struct json_document {
	const struct json_value *root;
	void *arena;
};
#define JSON_DOCUMENT_INIT                                                                                             \
	{                                                                                                              \
		.root = NULL                                                                                           \
	}

/*
 * Reads exactly one value. 0, -EBADMSG with *e filled ("line N: ..."; code ERROR_INVALID, .step = "line N"), -E2BIG for
 * a bound (ERROR_LIMIT), -ENOMEM. *ret is untouched on failure.
 */
int json_read(const char *text, size_t len, unsigned flags, struct json_document *ret, struct error *e);
void json_document_done(struct json_document *d);
#define _cleanup_json_ __attribute__((cleanup(json_document_done)))

/* NULL where v is no object or has no such member. */
const struct json_value *json_get(const struct json_value *v, const char *name);
const char *json_type_name(enum json_type type);

#endif
