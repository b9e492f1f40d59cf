/* isoctl log: the audit log of one session. */
#include <errno.h>
#include <string.h>

#include "client/call.h"
#include "client/command.h"
#include "client/escape.h"
#include "client/listing.h"
#include "client/report.h"

struct log_options {
	int follow;
	int json;
};

static const struct option options[] = {
	{ "follow", 'f', NULL, "wait for more until the session ends", OPTION_SET, offsetof(struct log_options, follow),
	  1 },
	{ "json", 'j', NULL, "the lines as they are stored, one JSON object each", OPTION_SET,
	  offsetof(struct log_options, json), 1 },
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

static int print_line(const char *text, size_t len, bool json)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	_cleanup_json_ struct json_document event = JSON_DOCUMENT_INIT;
	int r;

	if (json)
		r = buffer_append(&out, text, len);
	else if (json_read(text, len, 0, &event, NULL) == 0 && event.root->type == JSON_OBJECT)
		r = append_event(&out, event.root);
	else
		r = escape_append(&out, text, len);
	if (r == 0)
		r = buffer_append_string(&out, "\n");
	return r < 0 ? 1 : listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct log_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	struct error e = ERROR_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Log", CALL_MORE);
	int r, code = 0;

	json_write_member_string(w, "session", operands[0]);
	json_write_member_bool(w, "follow", o->follow);
	r = call_send(&call, client, &e);
	do {
		const struct json_value *line;

		if (r == 0)
			r = call_reply(&call, o->follow ? -1 : CALL_TIMEOUT_MS, &e);
		if (r < 0)
			break;
		line = json_get(call.reply.parameters, "line");
		/* The last reply of a stream may be an empty one. */
		if (line && line->type == JSON_STRING && line->string.len > 0)
			code = print_line(line->string.data, line->string.len, o->json);
	} while (code == 0 && call.reply.continues);
	if (r < 0) {
		report_error(&e);
		return 1;
	}
	return code;
}

const struct command command_log = {
	.name = "log",
	.operands = "SESSION",
	.summary = "Show what a session did and was denied",
	.details = "SESSION: the session's id or name.\n",
	.options = options,
	.options_size = sizeof(struct log_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
