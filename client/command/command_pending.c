/* isoctl pending, approve, deny: what sessions ask their owner (onUnlisted: ask), and the answer. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/policy/grant_file.h"
#include "client/report.h"

struct pending_options {
	int json;
};

static const struct option pending_options[] = {
	{ "json", 'j', NULL, "as one JSON array", OPTION_SET, offsetof(struct pending_options, json), 1 },
	OPTION_END,
};

static const struct json_value *ask(const struct client *client, struct call *call, struct error *e)
{
	int r;

	call_begin(call, "org.isod.Pending", 0);
	r = call_send(call, client, e);
	if (r == 0)
		r = call_reply(call, CALL_TIMEOUT_MS, e);
	return r == 0 ? call_member(call, "questions", JSON_ARRAY, e) : NULL;
}

/* "ID: HOST for PROGRAM in SESSION, until TIME" */
static int append_question(struct buffer *out, const struct json_value *q)
{
	static const struct {
		const char *before, *member;
	} parts[] = { { "", "id" },     { "  ", "host" },       { "  ", "program" }, { "  session ", "session" },
		      { " (", "name" }, { ")  until ", "ends" } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		const struct json_value *member = json_get(q, parts[i].member);
		bool empty = member && member->type == JSON_STRING && member->string.len == 0;

		r = buffer_append_string(out, parts[i].before);
		if (r == 0 && empty)
			r = buffer_append_string(out, "?");
		else if (r == 0)
			r = listing_append(out, member);
	}
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int run_pending(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct pending_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(8U << 20);
	struct error e = ERROR_INIT;
	const struct json_value *questions = ask(client, &call, &e);
	int r = 0;

	if (!questions) {
		report_error(&e);
		return 1;
	}
	listing_report_more(call.reply.parameters, "questions");
	if (o->json)
		return listing_print_json(questions);
	for (size_t i = 0; r == 0 && i < questions->array.count; i++)
		r = append_question(&out, &questions->array.items[i]);
	return r < 0 ? 1 : listing_print(&out);
}

enum approve_scope { APPROVE_SESSION, APPROVE_ONCE, APPROVE_PROJECT, APPROVE_ALWAYS };

static const char *const scopes[] = { "session", "once", "project", "always" };

struct approve_options {
	const char *duration;
	int scope; /* enum approve_scope */
	int yes;
};

static const struct option approve_options[] = {
	{ "once", 'o', NULL, "for one connection", OPTION_SET, offsetof(struct approve_options, scope), APPROVE_ONCE },
	{ "session", 's', NULL, "until the session ends (so it is without any of these)", OPTION_SET,
	  offsetof(struct approve_options, scope), APPROVE_SESSION },
	{ "project", 'p', NULL, "in a policy file of yours for the project, for this and later sessions there",
	  OPTION_SET, offsetof(struct approve_options, scope), APPROVE_PROJECT },
	{ "always", 'a', NULL, "in your own policy file, for all of your sessions", OPTION_SET,
	  offsetof(struct approve_options, scope), APPROVE_ALWAYS },
	{ "yes", 'y', NULL, "write without asking", OPTION_SET, offsetof(struct approve_options, yes), 1 },
	{ "for", 'f', "DURATION", "take it back after DURATION (90s, 30m, 12h)", OPTION_STRING,
	  offsetof(struct approve_options, duration) },
	OPTION_END,
};

static const char *text_of(const struct json_value *v, const char *name)
{
	const struct json_value *member = json_get(v, name);

	return member && member->type == JSON_STRING ? member->string.data : "";
}

/* Before the answer: what cannot be written down is not let through either. */
static int write_down(const struct client *client, const struct approve_options *o, const char *id, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *questions = ask(client, &call, e);

	if (!questions)
		return -EIO;
	for (size_t i = 0; i < questions->array.count; i++) {
		const struct json_value *q = &questions->array.items[i];

		if (strcmp(text_of(q, "id"), id) == 0)
			return grant_file_write(client, text_of(q, "session"), text_of(q, "host"),
						o->scope == APPROVE_ALWAYS, o->yes, e);
	}
	return error_set(e, ERROR_REFUSED, ENOENT, "question", "isoctl pending lists those that wait.",
			 "No question of that id waits for an answer.");
}

static int answer(const struct client *client, const char *id, bool allow, const char *scope, uint64_t seconds,
		  struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Answer", 0);
	int r;

	json_write_member_string(w, "question", id);
	json_write_member_bool(w, "allow", allow);
	if (scope)
		json_write_member_string(w, "scope", scope);
	if (seconds > 0)
		json_write_member_integer(w, "seconds", (int64_t)seconds);
	r = call_send(&call, client, e);
	return r < 0 ? r : call_reply(&call, CALL_TIMEOUT_MS, e);
}

static int run_approve(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct approve_options *o = filled;
	bool kept = o->scope == APPROVE_PROJECT || o->scope == APPROVE_ALWAYS;
	struct error e = ERROR_INIT;
	uint64_t seconds = 0;
	int r = 0;

	if (o->duration && (kept || number_parse_duration(o->duration, &seconds) < 0 || seconds == 0)) {
		error_set(&e, ERROR_INVALID, EINVAL, "options",
			  "Write 90s, 30m or 12h, and neither --project nor --always.", "--for: \"%s\" cannot be.",
			  o->duration);
		report_error(&e);
		return EXIT_USAGE;
	}
	if (kept)
		r = write_down(client, o, operands[0], &e);
	if (r >= 0)
		r = answer(client, operands[0], true, scopes[o->scope], seconds, &e);
	if (r < 0)
		report_error(&e);
	return r < 0 ? 1 : 0;
}

static int run_deny(const struct client *client, const void *filled, char **operands, int n_operands)
{
	struct error e = ERROR_INIT;

	if (answer(client, operands[0], false, NULL, 0, &e) == 0)
		return 0;
	report_error(&e);
	return 1;
}

static const struct option deny_options[] = { OPTION_END };

const struct command command_pending = {
	.name = "pending",
	.operands = "",
	.summary = "List what your sessions ask: hosts that no rule names, where the policy says ask",
	.options = pending_options,
	.options_size = sizeof(struct pending_options),
	.usage_exit = EXIT_USAGE,
	.run = run_pending,
};

const struct command command_approve = {
	.name = "approve",
	.operands = "ID",
	.summary = "Let a session reach the host that it asks about",
	.details = "ID: as isoctl pending shows it. What is held goes on at once; it is a grant, as isoctl grant makes "
		   "one, and\n"
		   "isoctl revoke takes it back.\n",
	.options = approve_options,
	.options_size = sizeof(struct approve_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run_approve,
};

const struct command command_deny = {
	.name = "deny",
	.operands = "ID",
	.summary = "Refuse the host that a session asks about; it does not ask again",
	.options = deny_options,
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run_deny,
};
