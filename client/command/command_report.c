/* isoctl report: one session as a page, or as data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/own_file.h"
#include "client/report.h"
#include "client/report/page.h"

struct report_options {
	const char *output;
	int json;
};

static const struct option options[] = {
	{ "output", 'o', "FILE", "write it there, not to stdout", OPTION_STRING,
	  offsetof(struct report_options, output) },
	{ "json", 'j', NULL, "the same facts as one JSON object", OPTION_SET, offsetof(struct report_options, json),
	  1 },
	OPTION_END,
};

static int read_log(const struct client *client, const char *session, struct facts *f, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Log", CALL_MORE);
	int r;

	json_write_member_string(w, "session", session);
	json_write_member_bool(w, "follow", false);
	r = call_send(&call, client, e);
	do {
		const struct json_value *line;

		if (r == 0)
			r = call_reply(&call, CALL_TIMEOUT_MS, e);
		if (r < 0)
			return r;
		line = json_get(call.reply.parameters, "line");
		if (line && line->type == JSON_STRING && line->string.len > 0)
			r = facts_add(f, line->string.data, line->string.len);
		if (r < 0)
			return error_set(e, ERROR_INTERNAL, -r, "report", "", "There is no memory left.");
	} while (call.reply.continues);
	return 0;
}

static int write_out(const struct report_options *o, const struct buffer *text, struct error *e)
{
	int r = o->output ? own_file_replace(o->output, text->data, text->len, 0600)
			  : fd_write_full(STDOUT_FILENO, text->data, text->len);

	if (r == 0)
		return 0;
	return error_set(e, ERROR_INVALID, -r, "output", "Name another file.", "The report cannot be written: %s.",
			 strerror(-r));
}

static int make(const struct report_options *o, const struct facts *f, const struct call *show, struct error *e)
{
	const struct json_value *session = json_get(show->reply.parameters, "session");
	const struct json_value *policy = json_get(show->reply.parameters, "policy");
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(PAGE_MAX);
	int r;

	if (o->json) {
		struct json_writer *w = json_write_new(&text);

		facts_write(f, session, policy, w);
		r = json_write_finish(w);
		if (r == 0)
			r = buffer_append_string(&text, "\n");
	} else {
		r = page_append(&text, f, session, policy);
	}
	if (r < 0)
		return error_set(e, ERROR_LIMIT, -r, "report", "", "The report is larger than it may be.");
	return write_out(o, &text, e);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct report_options *o = filled;
	_cleanup_free_ struct facts *f = calloc(1, sizeof(*f));
	_cleanup_call_ struct call show = CALL_INIT;
	struct error e = ERROR_INIT;
	int r;

	if (!f)
		return 1;
	json_write_member_string(call_begin(&show, "org.isod.Show", 0), "session", operands[0]);
	r = call_send(&show, client, &e);
	if (r == 0)
		r = call_reply(&show, CALL_TIMEOUT_MS, &e);
	if (r == 0)
		r = read_log(client, operands[0], f, &e);
	if (r == 0)
		r = make(o, f, &show, &e);
	facts_done(f);
	if (r < 0)
		report_error(&e);
	return r < 0;
}

const struct command command_report = {
	.name = "report",
	.operands = "SESSION",
	.summary = "Make a page of what a session did and was denied",
	.details = "SESSION: the session's id or name. The page loads nothing and runs nothing: it can be sent to "
		   "somebody.\n",
	.options = options,
	.options_size = sizeof(struct report_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
