/* isoctl show: one session, and the policy it runs under. */
#include "client/call.h"
#include "client/command.h"
#include "client/policy/grant_text.h"
#include "client/listing.h"
#include "client/report.h"

struct show_options {
	int json;
};

static const struct option options[] = {
	{ "json", 'j', NULL, "one JSON object", OPTION_SET, offsetof(struct show_options, json), 1 },
	OPTION_END,
};

static int append_line(struct buffer *out, const char *name, const struct json_value *v, bool is_argv)
{
	int r = buffer_printf(out, "%-10s ", name);

	if (r == 0)
		r = is_argv ? listing_append_argv(out, v) : listing_append(out, v);
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int append_account(struct buffer *out, const char *name, const struct json_value *account)
{
	const struct json_value *used = json_get(account, "used"), *limit = json_get(account, "limit");
	int r = buffer_printf(out, " %s %lld", name, used && used->type == JSON_INTEGER ? (long long)used->integer : 0);

	return r < 0 || !limit || limit->type != JSON_INTEGER ? r
							      : buffer_printf(out, "/%lld", (long long)limit->integer);
}

/* "budget     *.example.org: out 1024/4096 in 77" */
static int append_budget(struct buffer *out, const struct json_value *budget)
{
	const struct json_value *host = json_get(budget, "host");
	int r = buffer_printf(out, "%-10s ", "budget");

	if (r == 0)
		r = host && host->type == JSON_STRING ? listing_append(out, host)
						      : buffer_append_string(out, "session");
	if (r == 0)
		r = buffer_append_string(out, ":");
	if (r == 0)
		r = append_account(out, "out", json_get(budget, "bytesOut"));
	if (r == 0)
		r = append_account(out, "in", json_get(budget, "bytesIn"));
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int print(const struct json_value *answer)
{
	const struct json_value *budget = json_get(answer, "budget");
	static const char *const names[] = { "id",    "name", "state", "project",    "uid",     "started",
					     "ended", "exit", "late",  "lateReason", "learning" };
	const struct json_value *session = json_get(answer, "session");
	const struct json_value *lacking = json_get(session, "lacking"), *grants = json_get(session, "grants");
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	int r = append_line(&out, "command", json_get(session, "argv"), true);

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = append_line(&out, names[i], json_get(session, names[i]), false);
	for (size_t i = 0; r == 0 && lacking && lacking->type == JSON_ARRAY && i < lacking->array.count; i++)
		r = append_line(&out, "lacking", &lacking->array.items[i], false);
	for (size_t i = 0; r == 0 && grants && grants->type == JSON_ARRAY && i < grants->array.count; i++) {
		r = buffer_printf(&out, "%-10s ", "grant");
		if (r == 0)
			r = grant_text_append(&out, &grants->array.items[i]);
	}
	for (size_t i = 0; r == 0 && budget && budget->type == JSON_ARRAY && i < budget->array.count; i++)
		r = append_budget(&out, &budget->array.items[i]);
	if (r == 0)
		r = listing_append_ports(&out, "published  ", session);
	if (r == 0)
		r = append_line(&out, "policy", json_get(answer, "policy"), false);
	return r < 0 ? 1 : listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct show_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	struct error e = ERROR_INIT;
	int r;

	json_write_member_string(call_begin(&call, "org.isod.Show", 0), "session", operands[0]);
	r = call_send(&call, client, &e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, &e);
	if (r < 0) {
		report_error(&e);
		return 1;
	}
	return o->json ? listing_print_json(call.reply.parameters) : print(call.reply.parameters);
}

const struct command command_show = {
	.name = "show",
	.operands = "SESSION",
	.summary = "Show one session and its policy",
	.details = "SESSION: the session's id or name.\n",
	.options = options,
	.options_size = sizeof(struct show_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
