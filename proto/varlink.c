#include "proto/varlink.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "json/decode.h"
#include "json/write.h"

#define OUR_INTERFACE "org.isod."
#define SERVICE_INTERFACE "org.varlink.service."

/* Longest "interface.Method" or error name; ours have 40. */
#define NAME_MAX_BYTES 255

long varlink_frame(const char *data, size_t len, size_t *seen)
{
	const char *end;

	if (*seen > len)
		*seen = 0;
	end = len > *seen ? memchr(data + *seen, '\0', len - *seen) : NULL;
	if (!end) {
		*seen = len;
		return len < LIMIT_MESSAGE ? 0 : -EMSGSIZE;
	}
	*seen = 0;
	return end - data < LIMIT_MESSAGE ? end - data + 1 : -EMSGSIZE;
}

struct envelope {
	const char *name;
	const struct json_value *parameters;
	bool more;
	bool oneway;
	bool upgrade;
};

static const struct json_field call_fields[] = {
	{ "method", JSON_FIELD_STRING, offsetof(struct envelope, name), .required = true, .max = NAME_MAX_BYTES },
	{ "parameters", JSON_FIELD_ANY, offsetof(struct envelope, parameters) },
	{ "more", JSON_FIELD_BOOL, offsetof(struct envelope, more) },
	{ "oneway", JSON_FIELD_BOOL, offsetof(struct envelope, oneway) },
	{ "upgrade", JSON_FIELD_BOOL, offsetof(struct envelope, upgrade) },
};
static const struct json_schema call_schema = { "call", sizeof(struct envelope), call_fields, ARRAY_SIZE(call_fields) };

static const struct json_field reply_fields[] = {
	{ "error", JSON_FIELD_STRING, offsetof(struct envelope, name), .max = NAME_MAX_BYTES },
	{ "parameters", JSON_FIELD_ANY, offsetof(struct envelope, parameters) },
	{ "continues", JSON_FIELD_BOOL, offsetof(struct envelope, more) },
};
static const struct json_schema reply_schema = { "reply", sizeof(struct envelope), reply_fields,
						 ARRAY_SIZE(reply_fields) };

/* On success *doc owns what *ret points to: none of the fields needs memory of the decoder's. */
static int envelope_parse(const char *text, size_t len, const struct json_schema *schema, struct json_document *doc,
			  struct envelope *ret, struct error *e)
{
	static const struct json_value no_parameters = { .type = JSON_OBJECT };
	_cleanup_json_ struct json_document read = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	int r = json_read(text, len, 0, &read, e);

	if (r < 0)
		return r;
	r = json_decode(read.root, schema, schema->name, ret, &decoded, e);
	if (r < 0)
		return r;
	if (!ret->parameters || ret->parameters->type == JSON_NULL)
		ret->parameters = &no_parameters;
	if (ret->parameters->type != JSON_OBJECT)
		return error_set(e, ERROR_INVALID, EINVAL, "parameters", NULL, "The parameters must be an object.");
	*doc = read;
	read = (struct json_document)JSON_DOCUMENT_INIT;
	return 0;
}

int varlink_call_parse(const char *text, size_t len, struct json_document *doc, struct varlink_call *ret,
		       struct error *e)
{
	_cleanup_json_ struct json_document read = JSON_DOCUMENT_INIT;
	struct envelope call;
	int r = envelope_parse(text, len, &call_schema, &read, &call, e);

	if (r < 0)
		return r;
	if (call.oneway && (call.more || call.upgrade))
		return error_set(e, ERROR_INVALID, EINVAL, "call.oneway", NULL,
				 "A call without a reply can have neither more nor upgrade.");
	*ret = (struct varlink_call){
		.method = call.name,
		.parameters = call.parameters,
		.more = call.more,
		.oneway = call.oneway,
		.upgrade = call.upgrade,
	};
	*doc = read;
	read = (struct json_document)JSON_DOCUMENT_INIT;
	return 0;
}

int varlink_reply_parse(const char *text, size_t len, struct json_document *doc, struct varlink_reply *ret,
			struct error *e)
{
	struct envelope reply;
	int r = envelope_parse(text, len, &reply_schema, doc, &reply, e);

	if (r < 0)
		return r;
	*ret = (struct varlink_reply){
		.error = reply.name,
		.parameters = reply.parameters,
		.continues = reply.more,
	};
	return 0;
}

static const char *member_text(const struct json_value *parameters, const char *name)
{
	const struct json_value *v = json_get(parameters, name);

	return v && v->type == JSON_STRING ? v->string.data : "";
}

static void service_error(const char *name, const struct json_value *parameters, struct error *ret)
{
	static const struct {
		const char *name;
		const char *member;
		const char *message;
	} known[] = {
		{ "MethodNotFound", "method", "isod does not know the method %s." },
		{ "MethodNotImplemented", "method", "isod does not offer the method %s." },
		{ "InterfaceNotFound", "interface", "isod does not know the interface %s." },
		{ "InvalidParameter", "parameter", "isod does not accept the parameter %s." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		error_set(ret, ERROR_INVALID, 0, "call", NULL, known[i].message,
			  member_text(parameters, known[i].member));
		return;
	}
	error_set(ret, ERROR_INTERNAL, 0, "call", NULL, "isod answered with the error %s%s.", SERVICE_INTERFACE, name);
}

void varlink_reply_error(const struct varlink_reply *reply, struct error *ret)
{
	const struct json_value *number = json_get(reply->parameters, "errno");
	enum error_code code = ERROR_CODE_COUNT;
	int err = 0;

	if (strncmp(reply->error, SERVICE_INTERFACE, strlen(SERVICE_INTERFACE)) == 0) {
		service_error(reply->error + strlen(SERVICE_INTERFACE), reply->parameters, ret);
		return;
	}
	if (strncmp(reply->error, OUR_INTERFACE, strlen(OUR_INTERFACE)) == 0)
		code = error_code_from_name(reply->error + strlen(OUR_INTERFACE));
	if (code == ERROR_NONE || code == ERROR_CODE_COUNT) {
		error_set(ret, ERROR_INTERNAL, 0, "call", NULL, "isod answered with the error %s.", reply->error);
		return;
	}
	if (number && number->type == JSON_INTEGER && number->integer > 0 && number->integer <= INT32_MAX)
		err = (int)number->integer;
	error_set(ret, code, err, member_text(reply->parameters, "step"), member_text(reply->parameters, "remedy"),
		  "%s", member_text(reply->parameters, "message"));
}

static struct json_writer *message_begin(struct buffer *out, const char *name, const char *value)
{
	struct json_writer *w = json_write_new(out);

	json_write_object(w);
	if (name)
		json_write_member_string(w, name, value);
	return w;
}

static void parameters_begin(struct json_writer *w)
{
	json_write_key(w, "parameters");
	json_write_object(w);
}

struct json_writer *varlink_call_begin(struct buffer *out, const char *method, bool more, bool upgrade)
{
	struct json_writer *w = message_begin(out, "method", method);

	if (more)
		json_write_member_bool(w, "more", true);
	if (upgrade)
		json_write_member_bool(w, "upgrade", true);
	parameters_begin(w);
	return w;
}

struct json_writer *varlink_reply_begin(struct buffer *out, bool continues)
{
	struct json_writer *w = message_begin(out, NULL, NULL);

	if (continues)
		json_write_member_bool(w, "continues", true);
	parameters_begin(w);
	return w;
}

int varlink_end(struct json_writer *w, struct buffer *out)
{
	json_write_object_end(w);
	json_write_object_end(w);
	return json_write_finish_terminated(w);
}

int varlink_error_append(struct buffer *out, const struct error *e)
{
	uint32_t code = e->code == ERROR_NONE ? ERROR_INTERNAL : e->code;
	struct json_writer *w;
	char name[64];

	snprintf(name, sizeof(name), OUR_INTERFACE "%s", error_code_name(code));
	w = message_begin(out, "error", name);
	parameters_begin(w);
	json_write_member_string(w, "step", e->step);
	json_write_member_string(w, "message", e->message);
	json_write_member_string(w, "remedy", e->remedy);
	json_write_member_integer(w, "errno", e->err);
	return varlink_end(w, out);
}

int varlink_service_error_append(struct buffer *out, const char *name, const char *member, const char *value)
{
	struct json_writer *w;
	char full[64];

	snprintf(full, sizeof(full), SERVICE_INTERFACE "%s", name);
	w = message_begin(out, "error", full);
	parameters_begin(w);
	json_write_member_string(w, member, value);
	return varlink_end(w, out);
}
