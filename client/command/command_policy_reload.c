/* isoctl policy reload: the policy files as they are now, for sessions that run already. */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/policy/reload.h"
#include "client/report.h"

struct reload_options {
	struct option_list policy;
	int json;
};

static const struct option options[] = {
	{ "policy", 'p', "FILE", "in place of the files that `run` was given", OPTION_LIST,
	  offsetof(struct reload_options, policy) },
	{ "json", 'j', NULL, "one JSON object a session", OPTION_SET, offsetof(struct reload_options, json), 1 },
	OPTION_END,
};

static int print(const struct json_value *answer)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 10);
	const struct json_value *later = json_get(answer, "later");
	int r = listing_append(&out, json_get(answer, "session"));

	if (r == 0)
		r = buffer_append_string(&out, ": connections closed: ");
	if (r == 0)
		r = listing_append(&out, json_get(answer, "closed"));
	if (r == 0)
		r = buffer_append_string(&out,
					 later && later->type == JSON_BOOL && later->boolean
						 ? "; what is not about hosts takes effect with the next session\n"
						 : "\n");
	return r < 0 ? 1 : listing_print(&out);
}

/* The exit code. */
static int reload(const struct client *client, const struct reload_options *o, const char *session)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct error e = ERROR_INIT;

	if (reload_session(client, session, &o->policy, &call, &e) < 0) {
		report_error(&e);
		return 1;
	}
	return o->json ? listing_print_json(call.reply.parameters) : print(call.reply.parameters);
}

static bool is_own(const struct json_value *session)
{
	const struct json_value *state = json_get(session, "state"), *uid = json_get(session, "uid");

	return state && state->type == JSON_STRING && strcmp(state->string.data, "running") == 0 && uid &&
	       uid->type == JSON_INTEGER && uid->integer == geteuid();
}

static int reload_all(const struct client *client, const struct reload_options *o)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *sessions = NULL;
	struct error e = ERROR_INIT;
	int r, code = 0;

	json_write_member_bool(call_begin(&call, "org.isod.List", 0), "all", false);
	r = call_send(&call, client, &e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, &e);
	if (r == 0)
		sessions = call_member(&call, "sessions", JSON_ARRAY, &e);
	if (!sessions) {
		report_error(&e);
		return 1;
	}
	for (size_t i = 0; i < sessions->array.count; i++) {
		const struct json_value *id = json_get(&sessions->array.items[i], "id");

		if (id && id->type == JSON_STRING && is_own(&sessions->array.items[i]))
			code |= reload(client, o, id->string.data);
	}
	return code;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	return n_operands > 0 ? reload(client, filled, operands[0]) : reload_all(client, filled);
}

const struct command command_policy_reload = {
	.name = "policy reload",
	.operands = "[SESSION]",
	.summary = "Put the policy as it is now in force for sessions that run",
	.details =
		"SESSION: its id or name; without it, all of yours. Only what is about hosts changes in a running "
		"session:\n"
		"connections that no longer fit are closed at once, new ones are judged by the new rules. What `run` "
		"said on\n"
		"its command line stays.\n",
	.options = options,
	.options_size = sizeof(struct reload_options),
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
