/* isoctl kill: ends a session, or signals its program. */
#include <errno.h>

#include "client/call.h"
#include "client/command.h"
#include "client/report.h"
#include "client/signal_name.h"

struct kill_options {
	const char *signal;
};

static const struct option options[] = {
	{ "signal", 's', "SIGNAL", "only send SIGNAL (TERM, 15) to the program's group", OPTION_STRING,
	  offsetof(struct kill_options, signal) },
	OPTION_END,
};

static int kill_one(const struct client *client, const char *session, int signal, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Kill", 0);
	int r;

	json_write_member_string(w, "session", session);
	if (signal > 0)
		json_write_member_integer(w, "signal", signal);
	r = call_send(&call, client, e);
	return r < 0 ? r : call_reply(&call, CALL_TIMEOUT_MS, e);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct kill_options *o = filled;
	int signal = o->signal ? signal_name_parse(o->signal) : 0, code = 0;

	if (signal < 0) {
		struct error e = ERROR_INIT;

		error_set(&e, ERROR_INVALID, EINVAL, "options", "Write TERM, SIGTERM or 15.",
			  "--signal: there is no signal %s.", o->signal);
		report_error(&e);
		return EXIT_USAGE;
	}
	for (int i = 0; i < n_operands; i++) {
		struct error e = ERROR_INIT;

		if (kill_one(client, operands[i], signal, &e) == 0)
			continue;
		report_error(&e);
		code = 1;
	}
	return code;
}

const struct command command_kill = {
	.name = "kill",
	.operands = "SESSION…",
	.summary = "End sessions with everything in them",
	.details = "SESSION: the session's id or name. Without --signal nothing in the session survives.\n",
	.options = options,
	.options_size = sizeof(struct kill_options),
	.min_operands = 1,
	.max_operands = -1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
