/* isoctl policy show: the merged policy as isod sees it, each value with its origin. */
#include <string.h>

#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/policy/policy_git.h"
#include "client/policy/policy_texts.h"
#include "client/report.h"
#include "client/run/run_directory.h"

struct show_options {
	struct option_list policy;
	int json;
};

static const struct option options[] = {
	{ "policy", 'p', "FILE", "as `run` would with this file", OPTION_LIST, offsetof(struct show_options, policy) },
	{ "json", 'j', NULL, "one JSON object", OPTION_SET, offsetof(struct show_options, json), 1 },
	OPTION_END,
};

static bool is_leaf(const struct json_value *v)
{
	return v->type == JSON_OBJECT && v->object.count == 2 && json_get(v, "value") && json_get(v, "from");
}

/* One line a value: "sandbox.network.allowedDomains: ok.example  (user ...)". path is cut off again on return; the
 * depth is bounded by the reader. */
static int append_values(struct buffer *out, char *path, size_t size, const struct json_value *v)
{
	size_t len = strlen(path);
	int r = 0;

	if (is_leaf(v))
		return listing_append_origin(out, path, v);
	if (v->type == JSON_ARRAY) {
		for (size_t i = 0; r == 0 && i < v->array.count; i++)
			r = append_values(out, path, size, &v->array.items[i]);
		return r;
	}
	if (v->type != JSON_OBJECT) {
		r = buffer_printf(out, "%s: ", path);
		if (r == 0)
			r = listing_append(out, v);
		return r < 0 ? r : buffer_append_string(out, "\n");
	}
	for (size_t i = 0; r == 0 && i < v->object.count; i++) {
		snprintf(path + len, size - len, "%s%s", len ? "." : "", v->object.members[i].name);
		r = append_values(out, path, size, &v->object.members[i].value);
		path[len] = '\0';
	}
	return r;
}

static int print(const struct json_value *policy)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	char path[512] = "";
	int r = append_values(&out, path, sizeof(path), policy);

	return r < 0 ? 1 : listing_print(&out);
}

static int ask(struct call *call, const struct client *client, const struct show_options *o, struct error *e)
{
	struct policy_texts texts = { .count = 0 };
	struct run_directory directory = { 0 };
	struct error ignored = ERROR_INIT;
	bool here = run_directory_find(NULL, &directory, &ignored) == 0;
	int r = policy_texts_collect(&texts, here ? directory.cwd : NULL, &o->policy, e);

	if (r == 0 && here)
		r = policy_git_add(&texts, directory.cwd, NULL, NULL, NULL, e);
	if (r == 0) {
		struct json_writer *w = call_begin(call, "org.isod.PolicyShow", 0);

		policy_texts_write(&texts, w);
		if (here)
			json_write_member_string(w, "cwd", directory.cwd);
		r = call_send(call, client, e);
	}
	if (r == 0)
		r = call_reply(call, CALL_TIMEOUT_MS, e);
	run_directory_done(&directory);
	policy_texts_done(&texts);
	return r;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct show_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *policy = NULL;
	struct error e = ERROR_INIT;

	if (ask(&call, client, o, &e) == 0)
		policy = call_member(&call, "policy", JSON_OBJECT, &e);
	if (!policy) {
		report_error(&e);
		return 1;
	}
	return o->json ? listing_print_json(policy) : print(policy);
}

const struct command command_policy_show = {
	.name = "policy show",
	.operands = "",
	.summary = "Show the policy that a run here would get, and where each rule comes from",
	.options = options,
	.options_size = sizeof(struct show_options),
	.usage_exit = EXIT_USAGE,
	.run = run,
};
