/* isoctl log verify: is the audit log as isod has written it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/report.h"

struct verify_options {
	int json;
	int all;
	const char *head;
};

static const struct option options[] = {
	{ "json", 'j', NULL, "the answer as one JSON object", OPTION_SET, offsetof(struct verify_options, json), 1 },
	{ "all", 'a', NULL, "every session that you may see (root: all)", OPTION_SET,
	  offsetof(struct verify_options, all), 1 },
	{ "head", 0, "N:HASH", "what an earlier verify has shown: the index must still have it", OPTION_STRING,
	  offsetof(struct verify_options, head), 0 },
	OPTION_END,
};

static int append_finding(struct buffer *out, const struct json_value *f)
{
	const struct json_value *line = json_get(f, "line"), *id = json_get(f, "session");
	int r = listing_append(out, json_get(f, "state"));

	if (r == 0)
		r = buffer_append_string(out, "  ");
	if (r == 0 && id && id->type == JSON_STRING && id->string.len > 0)
		r = listing_append(out, id);
	else if (r == 0)
		r = buffer_append_string(out, "index");
	if (r == 0 && line && line->type == JSON_INTEGER && line->integer > 0)
		r = buffer_printf(out, "  line %" PRId64, line->integer);
	if (r == 0)
		r = buffer_append_string(out, "  ");
	if (r == 0)
		r = listing_append(out, json_get(f, "text"));
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int print(const struct json_value *answer, const struct json_value *findings)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(4U << 20);
	static const struct {
		const char *before, *name;
	} totals[] = { { "", "sessions" }, { " sessions, ", "lines" }, { " lines looked at; head ", "head" } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < findings->array.count; i++)
		r = append_finding(&out, &findings->array.items[i]);
	for (size_t i = 0; r == 0 && i < sizeof(totals) / sizeof(totals[0]); i++) {
		r = buffer_append_string(&out, totals[i].before);
		if (r == 0)
			r = listing_append(&out, json_get(answer, totals[i].name));
	}
	if (r == 0)
		r = buffer_append_string(&out, "\n");
	if (r < 0)
		return 1;
	listing_report_more(answer, "findings");
	return listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct verify_options *o = filled;
	const struct json_value *findings, *intact;
	struct error e = ERROR_INIT;
	struct json_writer *w;
	int r;

	if ((n_operands > 0) == (o->all != 0)) {
		error_set(&e, ERROR_INVALID, EINVAL, "log verify", "isoctl sessions --all lists them.",
			  "Name a session, or say --all.");
		report_error(&e);
		return EXIT_USAGE;
	}
	w = call_begin(&call, "org.isod.LogVerify", 0);
	if (n_operands > 0)
		json_write_member_string(w, "session", operands[0]);
	if (o->head)
		json_write_member_string(w, "head", o->head);
	r = call_send(&call, client, &e);
	/* As long as it takes: a log may have gigabytes. */
	if (r == 0)
		r = call_reply(&call, -1, &e);
	findings = r == 0 ? call_member(&call, "findings", JSON_ARRAY, &e) : NULL;
	intact = findings ? call_member(&call, "intact", JSON_BOOL, &e) : NULL;
	if (!intact) {
		report_error(&e);
		return EXIT_ISOD;
	}
	r = o->json ? listing_print_json(call.reply.parameters) : print(call.reply.parameters, findings);
	return r != 0 ? r : intact->boolean ? 0 : 1;
}

const struct command command_log_verify = {
	.name = "log verify",
	.operands = "[SESSION]",
	.summary = "Is the audit log as it was written: no line changed, cut, moved or added",
	.details = "Exit code 0: it is; 1: it is not, and what is wrong is said; 125: it could not be looked at. Note "
		   "the head\n"
		   "elsewhere: with --head it is asked for later (docs/AUDIT.md).\n",
	.options = options,
	.options_size = sizeof(struct verify_options),
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
