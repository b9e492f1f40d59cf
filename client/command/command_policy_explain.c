/* isoctl policy explain: which rules hold for a path or a host, the strongest first; or all of the file view in short.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/policy/policy_host.h"
#include "client/policy/policy_operand.h"
#include "client/policy/policy_query.h"
#include "client/policy/policy_texts.h"
#include "client/report.h"
#include "json/printable.h"

struct explain_options {
	struct option_list policy;
	int json;
};

static const struct option options[] = {
	{ "policy", 'p', "FILE", "as `run` would with this file", OPTION_LIST,
	  offsetof(struct explain_options, policy) },
	{ "json", 'j', NULL, "one JSON object", OPTION_SET, offsetof(struct explain_options, json), 1 },
	OPTION_END,
};

static int append_rules(struct buffer *out, const struct json_value *rules)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rules->array.count; i++) {
		const struct json_value *rule = &rules->array.items[i], *state = json_get(rule, "state");
		bool known = state && state->type == JSON_STRING;

		r = buffer_printf(out, "  %-9s ", known ? state->string.data : "-");
		if (r == 0)
			r = policy_query_append_rule(out, rule);
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

static int append_path(struct buffer *out, const struct call *call, struct error *e)
{
	const struct json_value *real = call_member(call, "real", JSON_STRING, e);
	const struct json_value *access = real ? call_member(call, "access", JSON_STRING, e) : NULL;
	const struct json_value *rules = access ? call_member(call, "rules", JSON_ARRAY, e) : NULL;
	int r;

	if (!rules)
		return -EBADMSG;
	r = listing_append(out, real);
	if (r == 0)
		r = buffer_append_string(out, ": ");
	if (r == 0)
		r = listing_append(out, access);
	if (r == 0)
		r = buffer_append_string(out, "\n");
	return r < 0 ? r : append_rules(out, rules);
}

/* The file view's part of a policy: lists, switches, and the switches of "protect". */
static int append_members(struct buffer *out, const char *prefix, const struct json_value *object)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < object->object.count; i++) {
		const struct json_member *m = &object->object.members[i];
		char name[128];

		snprintf(name, sizeof(name), "%s%s", prefix, m->name);
		if (m->value.type == JSON_OBJECT && json_get(&m->value, "from")) {
			r = listing_append_origin(out, name, &m->value);
		} else if (m->value.type == JSON_OBJECT && prefix[0] == '\0') {
			r = append_members(out, "protect.", &m->value);
		} else if (m->value.type == JSON_ARRAY) {
			for (size_t k = 0; r == 0 && k < m->value.array.count; k++)
				r = listing_append_origin(out, name, &m->value.array.items[k]);
		}
	}
	return r;
}

static const struct json_value *ask_policy(struct call *call, const struct client *client,
					   const struct option_list *files, struct error *e)
{
	struct policy_texts texts = { .count = 0 };
	const struct json_value *policy = NULL;
	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	int r = policy_texts_collect(&texts, cwd, files, e);

	if (r == 0) {
		policy_texts_write(&texts, call_begin(call, "org.isod.PolicyShow", 0));
		r = call_send(call, client, e);
	}
	if (r == 0)
		r = call_reply(call, CALL_TIMEOUT_MS, e);
	policy_texts_done(&texts);
	if (r == 0)
		policy = call_member(call, "policy", JSON_OBJECT, e);
	return policy;
}

static const struct json_value *file_view(const struct json_value *policy)
{
	const struct json_value *sandbox = policy ? json_get(policy, "sandbox") : NULL;
	policy = sandbox && sandbox->type == JSON_OBJECT ? json_get(sandbox, "filesystem") : NULL;
	return policy && policy->type == JSON_OBJECT ? policy : NULL;
}

static int explain_host(const struct json_value *policy, const struct policy_operand *host, bool json, struct error *e)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(16U << 20);
	struct json_writer *w;
	int r, written;

	if (!json) {
		r = policy_host_append(&out, policy, host, e);
		return r < 0 ? r : listing_print(&out);
	}
	w = json_write_new(&out);
	r = w ? policy_host_write(w, policy, host, e) : -ENOMEM;
	written = json_write_finish(w);
	if (r == 0)
		r = written < 0 ? written : buffer_append_string(&out, "\n");
	return r < 0 ? r : listing_print(&out);
}

static int explain_files(const struct call *call, const struct json_value *answer, bool of_path, bool json,
			 struct error *e)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(16U << 20);
	int r;

	if (json)
		return listing_print_json(answer);
	r = of_path ? append_path(&out, call, e) : append_members(&out, "", answer);
	return r < 0 ? r : listing_print(&out);
}

/* Not on stdout, which a program may read. */
static void say_file(const char *typed)
{
	const struct json_printable shown = json_printable(typed);

	fprintf(stderr, "isod: note: \"%s\" is a file here and is read as one; the host would be https://%s\n",
		shown.text, shown.text);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct explain_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *answer = NULL;
	struct policy_operand operand = { .is_host = false };
	struct error e = ERROR_INIT;
	int r = -EBADMSG;

	if (n_operands > 0 && policy_operand_read(operands[0], &operand, &e) < 0) {
		report_error(&e);
		return EXIT_USAGE;
	}
	if (operand.may_be_host)
		say_file(operands[0]);
	if (n_operands == 0 || operand.is_host)
		answer = ask_policy(&call, client, &o->policy, &e);
	else if (policy_query(client, &o->policy, operands[0], &call, &e) == 0)
		answer = call.reply.parameters;
	if (answer && operand.is_host)
		r = explain_host(answer, &operand, o->json, &e);
	else if (answer && (n_operands > 0 || (answer = file_view(answer))))
		r = explain_files(&call, answer, n_operands > 0, o->json, &e);
	if (r >= 0)
		return r;
	if (e.code == ERROR_NONE)
		error_set(&e, ERROR_INTERNAL, EBADMSG, "reply", NULL, "isod's answer cannot be read.");
	report_error(&e);
	return 1;
}

const struct command command_policy_explain = {
	.name = "policy explain",
	.operands = "[PATH|HOST[:PORT]|URL]",
	.summary = "Show the rules that hold for a path or a host, or those of the file view",
	.options = options,
	.options_size = sizeof(struct explain_options),
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.details =
		"Behind each rule: the key of the policy that it belongs to and the file that says it. \"decides\" "
		"is what\n"
		"counts, \"holds\" is overruled, \"set-aside\" a protection with an exception, \"other-port\" is "
		"about the\n"
		"host on another port. Paths begin with \"/\", \".\" or \"~\", or are there; else a name with a dot, a "
		"name\n"
		"with a port, an address and a URL are hosts; other words are paths below the working directory.\n"
		"Lines tls.ech and tls.noSni: what else holds for TLS to an allowed host.\n",
	.run = run,
};
