/* isoctl grant, isoctl revoke: one host more for a session that runs, and not any more. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/report.h"

enum grant_scope { GRANT_SESSION, GRANT_ONCE };

struct grant_options {
	const char *duration;
	int scope; /* enum grant_scope */
};

static const struct option grant_options[] = {
	{ "once", 'o', NULL, "for one connection", OPTION_SET, offsetof(struct grant_options, scope), GRANT_ONCE },
	{ "session", 's', NULL, "until the session ends (so it is without any of these)", OPTION_SET,
	  offsetof(struct grant_options, scope), GRANT_SESSION },
	{ "for", 'f', "DURATION", "take it back after DURATION (90s, 30m, 12h)", OPTION_STRING,
	  offsetof(struct grant_options, duration) },
	OPTION_END,
};
static const struct option revoke_options[] = { OPTION_END };

static int change(const struct client *client, const char *method, char **operands, uint64_t seconds, bool once,
		  struct call *call, struct error *e)
{
	struct json_writer *w = call_begin(call, method, 0);
	int r;

	json_write_member_string(w, "session", operands[0]);
	json_write_member_string(w, "host", operands[1]);
	if (seconds > 0)
		json_write_member_integer(w, "seconds", (int64_t)seconds);
	if (once)
		json_write_member_bool(w, "once", true);
	r = call_send(call, client, e);
	return r < 0 ? r : call_reply(call, CALL_TIMEOUT_MS, e);
}

static int run_grant(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct grant_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	struct error e = ERROR_INIT;
	uint64_t seconds = 0;

	if (o->duration && (number_parse_duration(o->duration, &seconds) < 0 || seconds == 0)) {
		error_set(&e, ERROR_INVALID, EINVAL, "options", "Write 90s, 30m or 12h.",
			  "--for: \"%s\" is no duration.", o->duration);
		report_error(&e);
		return EXIT_USAGE;
	}
	if (change(client, "org.isod.Grant", operands, seconds, o->scope == GRANT_ONCE, &call, &e) == 0)
		return 0;
	report_error(&e);
	return 1;
}

static int run_revoke(const struct client *client, const void *filled, char **operands, int n_operands)
{
	_cleanup_call_ struct call call = CALL_INIT;
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1U << 10);
	struct error e = ERROR_INIT;
	int r;

	if (change(client, "org.isod.Revoke", operands, 0, false, &call, &e) < 0) {
		report_error(&e);
		return 1;
	}
	r = buffer_append_string(&out, "connections closed: ");
	if (r == 0)
		r = listing_append(&out, json_get(call.reply.parameters, "closed"));
	if (r == 0)
		r = buffer_append_string(&out, "\n");
	return r < 0 ? 1 : listing_print(&out);
}

const struct command command_grant = {
	.name = "grant",
	.operands = "SESSION HOST[:PORT]",
	.summary = "Let a session that runs reach one host more, until it ends",
	.details = "HOST: as in --allow-domain. What a rule denies stays denied. isoctl show lists what holds.\n",
	.options = grant_options,
	.options_size = sizeof(struct grant_options),
	.min_operands = 2,
	.max_operands = 2,
	.usage_exit = EXIT_USAGE,
	.run = run_grant,
};

const struct command command_revoke = {
	.name = "revoke",
	.operands = "SESSION HOST[:PORT]",
	.summary = "Take a grant back and close what it has opened",
	.options = revoke_options,
	.min_operands = 2,
	.max_operands = 2,
	.usage_exit = EXIT_USAGE,
	.run = run_revoke,
};
