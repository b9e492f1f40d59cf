/* isoctl status: is there an isod, and can it start sessions here? */
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/report.h"

struct status_options {
	int json;
};

static const struct option options[] = {
	{ "json", 'j', NULL, "one JSON object", OPTION_SET, offsetof(struct status_options, json), 1 },
	OPTION_END,
};

static int print(const struct client *client, const struct json_value *answer, bool ready)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1U << 20);
	int r = buffer_append_string(&out, "isod ");

	if (r == 0)
		r = listing_append(&out, json_get(answer, "version"));
	if (r == 0)
		r = buffer_printf(&out, " on %s\n%s", client->socket, ready ? "ready, sessions: " : "not ready: ");
	if (r == 0)
		r = listing_append(&out, json_get(answer, ready ? "sessions" : "reason"));
	if (r == 0)
		r = buffer_append_string(&out, "\nLandlock ABI: ");
	if (r == 0)
		r = listing_append(&out, json_get(answer, "landlock"));
	if (r == 0)
		r = buffer_append_string(&out, "\nsecret files that appear during a session: ");
	if (r == 0)
		r = listing_append(&out, json_get(answer, "late"));
	if (r == 0 && json_get(answer, "lateReason") && json_get(answer, "lateReason")->type == JSON_STRING) {
		r = buffer_append_string(&out, ": ");
		if (r == 0)
			r = listing_append(&out, json_get(answer, "lateReason"));
	}
	if (r == 0)
		r = buffer_append_string(&out, "\n");
	return r < 0 ? 1 : listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct status_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *ready = NULL;
	struct error e = ERROR_INIT;
	int r;

	call_begin(&call, "org.isod.Status", 0);
	r = call_send(&call, client, &e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, &e);
	if (r == 0)
		ready = call_member(&call, "ready", JSON_BOOL, &e);
	if (!ready) {
		report_error(&e);
		return 1;
	}
	r = o->json ? listing_print_json(call.reply.parameters) : print(client, call.reply.parameters, ready->boolean);
	return r ? r : !ready->boolean;
}

const struct command command_status = {
	.name = "status",
	.operands = "",
	.summary = "Say whether isod runs and can start sessions",
	.details = "Exit code: 0 where it is ready, else 1.\n",
	.options = options,
	.options_size = sizeof(struct status_options),
	.usage_exit = EXIT_USAGE,
	.run = run,
};
