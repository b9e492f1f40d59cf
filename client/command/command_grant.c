/* isoctl grant, isoctl revoke: one host more for a session that runs, or for those to come, and not any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/policy/grant_file.h"
#include "client/policy/reload.h"
#include "client/report.h"

enum grant_scope { GRANT_SESSION, GRANT_ONCE, GRANT_PROJECT, GRANT_ALWAYS };

struct grant_options {
	const char *duration;
	int scope; /* enum grant_scope */
	int yes;
};

static const struct option grant_options[] = {
	{ "once", 'o', NULL, "for one connection", OPTION_SET, offsetof(struct grant_options, scope), GRANT_ONCE },
	{ "session", 's', NULL, "until the session ends (so it is without any of these)", OPTION_SET,
	  offsetof(struct grant_options, scope), GRANT_SESSION },
	{ "project", 'p', NULL, "in a policy file of yours for the project, for this and later sessions there",
	  OPTION_SET, offsetof(struct grant_options, scope), GRANT_PROJECT },
	{ "always", 'a', NULL, "in your own policy file, for all of your sessions", OPTION_SET,
	  offsetof(struct grant_options, scope), GRANT_ALWAYS },
	{ "yes", 'y', NULL, "write without asking", OPTION_SET, offsetof(struct grant_options, yes), 1 },
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

/* Into the file, and then into the session. */
static int write_down(const struct client *client, const struct grant_options *o, const char *session, const char *host,
		      struct error *e)
{
	_cleanup_call_ struct call reload = CALL_INIT;
	int r = grant_file_write(client, session, host, o->scope == GRANT_ALWAYS, o->yes, e);

	return r < 0 ? r : reload_session(client, session, NULL, &reload, e);
}

static int read_duration(const struct grant_options *o, uint64_t *ret, struct error *e)
{
	if (!o->duration)
		return 0;
	if (o->scope == GRANT_PROJECT || o->scope == GRANT_ALWAYS)
		return error_set(e, ERROR_INVALID, EINVAL, "options", "Leave out one of them.",
				 "What is written into a policy file has no end: --for does not go with it.");
	if (number_parse_duration(o->duration, ret) < 0 || *ret == 0)
		return error_set(e, ERROR_INVALID, EINVAL, "options", "Write 90s, 30m or 12h.",
				 "--for: \"%s\" is no duration.", o->duration);
	return 0;
}

static int run_grant(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct grant_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	struct error e = ERROR_INIT;
	uint64_t seconds = 0;
	int r = read_duration(o, &seconds, &e);

	if (r < 0) {
		report_error(&e);
		return EXIT_USAGE;
	}
	if (o->scope == GRANT_PROJECT || o->scope == GRANT_ALWAYS)
		r = write_down(client, o, operands[0], operands[1], &e);
	else
		r = change(client, "org.isod.Grant", operands, seconds, o->scope == GRANT_ONCE, &call, &e);
	if (r < 0)
		report_error(&e);
	return r < 0 ? 1 : 0;
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
	.details = "HOST: as in --allow-domain. What a rule denies stays denied. isoctl show lists what holds.\n"
		   "With --once the first connection to HOST has it, and no other one. --project and --always show "
		   "what is\n"
		   "to be written and ask; the files are yours and lie below ~/.config/isod, where no session can "
		   "write.\n",
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
