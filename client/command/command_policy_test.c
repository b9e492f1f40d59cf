/* isoctl policy test: may a program in the sandbox read or write this path, and which rule says so. */
#include <errno.h>
#include <string.h>

#include "client/command.h"
#include "client/listing.h"
#include "client/policy/policy_query.h"
#include "client/report.h"

struct test_options {
	const char *read;
	const char *write;
	struct option_list policy;
	int json;
};

static const struct option options[] = {
	{ "read", 'r', "PATH", "may PATH be read?", OPTION_STRING, offsetof(struct test_options, read) },
	{ "write", 'w', "PATH", "may PATH be written?", OPTION_STRING, offsetof(struct test_options, write) },
	{ "policy", 'p', "FILE", "as `run` would with this file", OPTION_LIST, offsetof(struct test_options, policy) },
	{ "json", 'j', NULL, "one JSON object", OPTION_SET, offsetof(struct test_options, json), 1 },
	OPTION_END,
};

/* What isod says of a path, for people. */
static const struct {
	const char *access;
	const char *text;
} sentences[] = {
	{ "absent", "it does not exist in the sandbox: no rule allows it" },
	{ "denied", "it cannot be read" },
	{ "readable", "it can be read, not written" },
	{ "overlay", "it can be read; what is written goes to a layer of the session" },
	{ "writable", "it can be read and written" },
	{ "system", "it is part of what every sandbox can read and none can write" },
	{ "private", "the sandbox has a folder of its own there" },
};

static const char *sentence_of(const struct json_value *access)
{
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (strcmp(sentences[i].access, access->string.data) == 0)
			return sentences[i].text;
	return access->string.data;
}

static int append(struct buffer *out, const struct call *call, const struct test_options *o, bool allowed,
		  struct error *e)
{
	const struct json_value *access = call_member(call, "access", JSON_STRING, e);
	const struct json_value *rules = access ? call_member(call, "rules", JSON_ARRAY, e) : NULL, *rule;
	int r;

	if (!rules)
		return -EBADMSG;
	rule = policy_query_decider(rules, o->write != NULL);
	r = buffer_printf(out, "%s: ", allowed ? "allowed" : "denied");
	if (r == 0)
		r = listing_append(out, call_member(call, "real", JSON_STRING, e));
	if (r == 0)
		r = buffer_printf(out, ": %s\n", sentence_of(access));
	if (r == 0 && rule) {
		r = buffer_append_string(out, "  by ");
		if (r == 0)
			r = policy_query_append_rule(out, rule);
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "output", NULL, "The answer is too long.") : 0;
}

/* 0 allowed, 1 denied, EXIT_USAGE where nothing could be asked. */
static int answer(const struct call *call, const struct test_options *o, struct error *e)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(4U << 20);
	const struct json_value *allowed = call_member(call, o->write ? "write" : "read", JSON_BOOL, e);

	if (!allowed)
		return EXIT_USAGE;
	if (o->json) {
		if (listing_print_json(call->reply.parameters) != 0)
			return EXIT_USAGE;
	} else if (append(&out, call, o, allowed->boolean, e) < 0 || listing_print(&out) != 0) {
		return EXIT_USAGE;
	}
	return allowed->boolean ? 0 : 1;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct test_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	struct error e = ERROR_INIT;
	int code = EXIT_USAGE;

	if (!o->read == !o->write)
		error_set(&e, ERROR_INVALID, EINVAL, "options", "See isoctl help policy test.",
			  "Name one path, with --read or with --write.");
	else if (policy_query(client, &o->policy, o->read ? o->read : o->write, &call, &e) == 0)
		code = answer(&call, o, &e);
	if (e.code != ERROR_NONE)
		report_error(&e);
	return code;
}

const struct command command_policy_test = {
	.name = "policy test",
	.operands = "",
	.summary = "Say whether a path may be read or written in the sandbox, and why",
	.options = options,
	.options_size = sizeof(struct test_options),
	.usage_exit = EXIT_USAGE,
	.details =
		"Exit code: 0 allowed, 1 denied, 2 where it could not be found out. The path need not exist. What the\n"
		"user's own permissions forbid stays forbidden in the sandbox, whatever the rules allow.\n",
	.run = run,
};
