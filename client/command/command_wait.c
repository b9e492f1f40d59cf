/* isoctl wait: until a session has ended. */
#include <errno.h>

#include "client/call.h"
#include "client/command.h"
#include "client/report.h"

static const struct option options[] = { OPTION_END };

static int wait_for(const struct client *client, const char *session, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *ended = NULL, *code;
	int r;

	json_write_member_string(call_begin(&call, "org.isod.Wait", 0), "session", session);
	r = call_send(&call, client, e);
	if (r == 0)
		r = call_reply(&call, -1, e);
	if (r == 0)
		ended = call_member(&call, "session", JSON_OBJECT, e);
	code = json_get(ended, "exit");
	if (!ended)
		return -EPROTO;
	if (code && code->type == JSON_INTEGER && code->integer >= 0 && code->integer <= 255)
		return (int)code->integer;
	return error_set(e, ERROR_INTERNAL, EPROTO, "exit", "Look at the log of isod.",
			 "isod does not know how the command ended.");
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	struct error e = ERROR_INIT;
	int code = wait_for(client, operands[0], &e);

	if (code >= 0)
		return code;
	report_error(&e);
	return EXIT_ISOD;
}

const struct command command_wait = {
	.name = "wait",
	.operands = "SESSION",
	.summary = "Wait until a session has ended, and return its exit code",
	.details = "Exit code: as of run; 125 where there is no such session.\n",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_ISOD,
	.run = run,
};
