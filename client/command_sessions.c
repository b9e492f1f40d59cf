/* isoctl sessions: what runs, one line each. */
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/report.h"

struct sessions_options {
	int all;
	int json;
};

static const struct option options[] = {
	{ "all", 'a', NULL, "ended ones too", OPTION_SET, offsetof(struct sessions_options, all), 1 },
	{ "json", 'j', NULL, "a JSON array of objects", OPTION_SET, offsetof(struct sessions_options, json), 1 },
	OPTION_END,
};

static int append_session(struct buffer *out, const struct json_value *session)
{
	static const char *const columns[] = { "id", "name", "state", "exit", "started", "project" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(columns) / sizeof(columns[0]); i++) {
		r = listing_append(out, json_get(session, columns[i]));
		if (r == 0)
			r = buffer_append_string(out, "  ");
	}
	if (r == 0)
		r = listing_append_argv(out, json_get(session, "argv"));
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int print(const struct json_value *sessions)
{
	struct buffer _cleanup_buffer_ out = BUFFER_INIT(64U << 20);
	int r = 0;

	if (sessions->array.count > 0)
		r = buffer_append_string(&out, "ID  NAME  STATE  EXIT  STARTED  PROJECT  COMMAND\n");
	for (size_t i = 0; r == 0 && i < sessions->array.count; i++)
		r = append_session(&out, &sessions->array.items[i]);
	return r < 0 ? 1 : listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct sessions_options *o = filled;
	struct call _cleanup_call_ call = CALL_INIT;
	const struct json_value *sessions = NULL;
	struct error e = ERROR_INIT;
	int r;

	json_write_member_bool(call_begin(&call, "org.isod.List", 0), "all", o->all);
	r = call_send(&call, client, &e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, &e);
	if (r == 0)
		sessions = call_member(&call, "sessions", JSON_ARRAY, &e);
	if (!sessions) {
		report_error(&e);
		return 1;
	}
	return o->json ? listing_print_json(sessions) : print(sessions);
}

const struct command command_sessions = {
	.name = "sessions",
	.operands = "",
	.summary = "List your sessions (root: everybody's)",
	.options = options,
	.options_size = sizeof(struct sessions_options),
	.usage_exit = EXIT_USAGE,
	.run = run,
};
