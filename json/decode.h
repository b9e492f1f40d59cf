#ifndef ISOD_JSON_DECODE_H
#define ISOD_JSON_DECODE_H
/*
 * Value tree -> struct by table. Unknown members, wrong types, missing required members and exceeded limits are refused
 * with the member's path ("parameters.env[3].name"). Nullable: an optional member may be null or absent; its place in
 * the struct is then all zero.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "json/value.h"

enum json_field_type {
	JSON_FIELD_BOOL = 1,     /* bool */
	JSON_FIELD_INTEGER,      /* int64_t, min..max */
	JSON_FIELD_STRING,       /* const char *: UTF-8, at most max bytes */
	JSON_FIELD_BYTES,        /* const char *: json/bytes.h, at most max bytes */
	JSON_FIELD_BYTES_ARRAY,  /* struct json_strings */
	JSON_FIELD_STRING_ARRAY, /* struct json_strings */
	JSON_FIELD_OBJECT,       /* nested struct, by .schema */
	JSON_FIELD_OBJECT_ARRAY, /* struct json_objects of .schema->size each, at most max */
	JSON_FIELD_ANY,          /* const struct json_value * */
};

struct json_strings {
	const char *const *items; /* NULL-terminated */
	size_t count;
};

struct json_objects {
	void *items; /* count structs of schema->size bytes */
	size_t count;
};

struct json_schema;

struct json_field {
	const char *name;
	enum json_field_type type;
	size_t offset;
	bool required;
	int64_t min; /* INTEGER */
	int64_t max; /* INTEGER: the largest; text: bytes, 0 = LIMIT_PATH; arrays: items, 0 = 65536 */
	const struct json_schema *schema;
	size_t present_offset; /* of a bool that is set where the member is there; 0 = none, so never the first field */
};

struct json_schema {
	const char *name; /* type name of the interface text: tests compare both */
	size_t size;
	const struct json_field *fields;
	size_t n_fields;
};

struct json_decoded {
	void *arena; /* every pointer in the struct points here or into the document */
};
#define JSON_DECODED_INIT                                                                                              \
	{                                                                                                              \
		.arena = NULL                                                                                          \
	}

/* *out (schema->size bytes) is zeroed first. 0, -EINVAL with *e filled (step = member path), -ENOMEM. */
int json_decode(const struct json_value *v, const struct json_schema *schema, const char *path, void *out,
		struct json_decoded *ret, struct error *e);
void json_decoded_done(struct json_decoded *d);
#define _cleanup_json_decoded_ __attribute__((cleanup(json_decoded_done)))

#endif
