#ifndef ISOD_PROTO_VARLINK_H
#define ISOD_PROTO_VARLINK_H
/*
 * Varlink messages, both sides: NUL-terminated JSON objects. Framing here, descriptors by the caller (SCM_RIGHTS travel
 * with the first byte of their message).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/value.h"

/* Finds one message at the front: bytes consumed with its NUL, 0 = more needed, -EMSGSIZE past LIMIT_MESSAGE.
 * seen: bytes known to hold no NUL from an earlier call (slow drips are not scanned again); updated. */
long varlink_frame(const char *data, size_t len, size_t *seen);

struct varlink_call {
	const char *method;                  /* fully qualified */
	const struct json_value *parameters; /* an object, never NULL */
	bool more;
	bool oneway;
	bool upgrade;
};

/* A call's envelope, without its NUL: unknown members are refused. *doc owns the memory of *ret. */
int varlink_call_parse(const char *text, size_t len, struct json_document *doc, struct varlink_call *ret,
		       struct error *e);

struct varlink_reply {
	const char *error;                   /* fully qualified, or NULL */
	const struct json_value *parameters; /* an object, never NULL */
	bool continues;
};

int varlink_reply_parse(const char *text, size_t len, struct json_document *doc, struct varlink_reply *ret,
			struct error *e);

/* The struct error of an org.isod.* or org.varlink.service.* error reply. */
void varlink_reply_error(const struct varlink_reply *reply, struct error *ret);

struct json_writer;
/* Opens {"method":...,"parameters":{ ; the caller writes members; varlink_end() closes and appends the NUL. */
struct json_writer *varlink_call_begin(struct buffer *out, const char *method, bool more, bool upgrade);
struct json_writer *varlink_reply_begin(struct buffer *out, bool continues);
/* Closes both objects and the writer, appends the NUL. 0, or -errno with *out as it was before ..._begin(). */
int varlink_end(struct json_writer *w, struct buffer *out);

/* Whole error replies. */
int varlink_error_append(struct buffer *out, const struct error *e);
/* name: "MethodNotFound", "InvalidParameter", "InterfaceNotFound", "MethodNotImplemented"; member: its parameter's
 * name, value: its text. */
int varlink_service_error_append(struct buffer *out, const char *name, const char *member, const char *value);

/* The interface texts, embedded at build time; terminated. */
extern const char varlink_text_org_isod[];
extern const char varlink_text_org_varlink_service[];

#endif
