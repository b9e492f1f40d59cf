/* isoctl log: the audit log of one session; what was refused, of one or of all. */
#include <errno.h>
#include <string.h>

#include "client/call.h"
#include "client/command.h"
#include "client/denial.h"
#include "client/escape.h"
#include "client/listing.h"
#include "client/report.h"

struct log_options {
	int follow;
	int json;
	int denied;
};

static const struct option options[] = {
	{ "follow", 'f', NULL, "wait for more until the session ends", OPTION_SET, offsetof(struct log_options, follow),
	  1 },
	{ "json", 'j', NULL, "the lines as they are stored, one JSON object each", OPTION_SET,
	  offsetof(struct log_options, json), 1 },
	{ "denied", 'd', NULL, "only what was refused, with the rule and what to do", OPTION_SET,
	  offsetof(struct log_options, denied), 1 },
	OPTION_END,
};

/* time event key=value ... */
static int append_event(struct buffer *out, const struct json_value *event)
{
	static const char *const first[] = { "time", "event" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2; i++) {
		r = listing_append(out, json_get(event, first[i]));
		if (r == 0)
			r = buffer_append_string(out, i == 0 ? " " : "");
	}
	for (size_t i = 0; r == 0 && i < event->object.count; i++) {
		const struct json_member *m = &event->object.members[i];

		if (strcmp(m->name, first[0]) == 0 || strcmp(m->name, first[1]) == 0)
			continue;
		r = buffer_append_string(out, " ");
		if (r == 0)
			r = escape_append(out, m->name, strlen(m->name));
		if (r == 0)
			r = buffer_append_string(out, "=");
		if (r == 0)
			r = listing_append(out, &m->value);
	}
	return r;
}

static int append_for_people(struct buffer *out, const struct json_value *event, bool denied)
{
	bool known = false;
	int r = denied ? denial_append(out, event, &known) : 0;

	if (r < 0 || known)
		return r;
	r = append_event(out, event);
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int print_line(const char *text, size_t len, const struct log_options *o)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	_cleanup_json_ struct json_document event = JSON_DOCUMENT_INIT;
	bool readable = (o->denied || !o->json) && json_read(text, len, 0, &event, NULL) == 0 &&
			event.root->type == JSON_OBJECT;
	int r;

	if (o->denied && !(readable && denial_is_one(event.root)))
		return 0;
	if (readable && !o->json) {
		r = append_for_people(&out, event.root, o->denied);
	} else {
		r = o->json ? buffer_append(&out, text, len) : escape_append(&out, text, len);
		if (r == 0)
			r = buffer_append_string(&out, "\n");
	}
	return r < 0 ? 1 : listing_print(&out);
}

/* 0, or 1 where it could not be shown; -errno with *e. */
static int show(const struct client *client, const struct log_options *o, const char *session, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Log", CALL_MORE);
	int r, code = 0;

	json_write_member_string(w, "session", session);
	json_write_member_bool(w, "follow", o->follow);
	r = call_send(&call, client, e);
	do {
		const struct json_value *line;

		if (r == 0)
			r = call_reply(&call, o->follow ? -1 : CALL_TIMEOUT_MS, e);
		if (r < 0)
			return r;
		line = json_get(call.reply.parameters, "line");
		/* The last reply of a stream may be an empty one. */
		if (line && line->type == JSON_STRING && line->string.len > 0)
			code = print_line(line->string.data, line->string.len, o);
	} while (code == 0 && call.reply.continues);
	return code;
}

/* One session after the other, in the order of the list. */
static int show_all(const struct client *client, const struct log_options *o, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *sessions;
	int r;

	json_write_member_bool(call_begin(&call, "org.isod.List", 0), "all", true);
	r = call_send(&call, client, e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, e);
	sessions = r == 0 ? call_member(&call, "sessions", JSON_ARRAY, e) : NULL;
	if (!sessions)
		return r < 0 ? r : -EBADMSG;
	for (size_t i = 0; r == 0 && i < sessions->array.count; i++) {
		const struct json_value *session = &sessions->array.items[i];
		const struct json_value *id = session->type == JSON_OBJECT ? json_get(session, "id") : NULL;
		struct error gone = ERROR_INIT;

		if (!id || id->type != JSON_STRING)
			continue;
		r = show(client, o, id->string.data, &gone);
		/* One that was forgotten meanwhile. */
		if (r < 0 && gone.code == ERROR_NO_SUCH_SESSION)
			r = 0;
		else if (r < 0)
			*e = gone;
	}
	return r;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct log_options *o = filled;
	struct error e = ERROR_INIT;
	int r;

	if (n_operands == 0 && (!o->denied || o->follow)) {
		error_set(&e, ERROR_INVALID, EINVAL, "log", "isoctl sessions --all lists them.",
			  "Name a session; only --denied without --follow goes without one.");
		report_error(&e);
		return EXIT_USAGE;
	}
	r = n_operands > 0 ? show(client, o, operands[0], &e) : show_all(client, o, &e);
	if (r >= 0)
		return r;
	report_error(&e);
	return 1;
}

const struct command command_log = {
	.name = "log",
	.operands = "[SESSION]",
	.summary = "Show what a session did and was denied",
	.details = "SESSION: the session's id or name. With --denied alone: all sessions that isod still knows.\n",
	.options = options,
	.options_size = sizeof(struct log_options),
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
