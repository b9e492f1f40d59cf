/* isoctl policy learn: rules for what a session has reached under onUnlisted: learn. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/command.h"
#include "client/escape.h"
#include "client/listing.h"
#include "client/policy/policy_store.h"
#include "client/policy/policy_texts.h"
#include "client/policy/proposal.h"
#include "client/policy/registrable.h"
#include "client/policy/reload.h"
#include "client/report.h"

struct learn_options {
	const char *write;
	int project;
	int wildcards;
	int yes;
	int json;
};

#define AT(member) offsetof(struct learn_options, member)
static const struct option options[] = {
	{ "write", 'w', "FILE", "into FILE instead of your own policy", OPTION_STRING, AT(write) },
	{ "project", 'p', NULL, "into your policy file for the session's project", OPTION_SET, AT(project), 1 },
	{ "wildcards", 0, NULL, "take the wildcards that are offered", OPTION_SET, AT(wildcards), 1 },
	{ "yes", 'y', NULL, "write without asking", OPTION_SET, AT(yes), 1 },
	{ "json", 'j', NULL, "the rules as one JSON object, nothing is written", OPTION_SET, AT(json), 1 },
	OPTION_END,
};

static const char *text_of(const struct json_value *event, const char *name)
{
	const struct json_value *v = json_get(event, name);

	return v && v->type == JSON_STRING ? v->string.data : NULL;
}

static int64_t number_of(const struct json_value *event, const char *name, int64_t absent)
{
	const struct json_value *v = json_get(event, name);

	return v && v->type == JSON_INTEGER ? v->integer : absent;
}

/* Lines of other kinds, and what is no host, are passed over. */
static int add_line(struct proposal *p, const char *line, size_t len)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	const char *reason, *name;
	int64_t port, count;
	int r;

	if (json_read(line, len, 0, &d, NULL) < 0 || d.root->type != JSON_OBJECT)
		return 0;
	reason = text_of(d.root, "reason");
	name = text_of(d.root, "name");
	port = number_of(d.root, "port", 0);
	count = number_of(d.root, "count", 1);
	if (!reason || !name || strcmp(reason, egress_reason_name(EGRESS_LEARNED)) != 0 || port <= 0 ||
	    port > UINT16_MAX || count <= 0)
		return 0;
	r = proposal_add(p, name, (uint16_t)port, (uint64_t)count, text_of(d.root, "program"));
	return r == -EINVAL ? 0 : r;
}

static int read_log(const struct client *client, const char *session, struct proposal *p, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Log", CALL_MORE);
	int r;

	json_write_member_string(w, "session", session);
	json_write_member_bool(w, "follow", false);
	r = call_send(&call, client, e);
	do {
		const struct json_value *line;

		if (r == 0)
			r = call_reply(&call, CALL_TIMEOUT_MS, e);
		if (r < 0)
			return r;
		line = json_get(call.reply.parameters, "line");
		if (line && line->type == JSON_STRING && add_line(p, line->string.data, line->string.len) < 0)
			return error_set(e, ERROR_INTERNAL, ENOMEM, "log", "", "There is no memory left.");
	} while (call.reply.continues);
	return 0;
}

/* Neither what is allowed by now, nor what a rule denies by now. */
static bool is_wanted(const struct proposal_host *host, void *data)
{
	const struct egress_target t = { .name = host->name, .port = host->port };
	struct egress_verdict v;

	egress_decide(data, &t, &v);
	return v.reason == EGRESS_NOT_LISTED || v.reason == EGRESS_PORT;
}

/* By the user's files as they are now; the administrator's are asked for when a session starts. */
static int drop_known(const char *project, struct proposal *p, struct error *e)
{
	struct policy_texts texts = { .count = 0 };
	struct policy policy = { .arena = NULL };
	int r = policy_texts_collect(&texts, project, NULL, e);

	if (r == 0)
		r = policy_load(texts.inputs, texts.count, &policy, e);
	if (r == 0) {
		policy.egress.unlisted = EGRESS_UNLISTED_DENY;
		proposal_filter(p, is_wanted, &policy.egress);
	}
	policy_done(&policy);
	policy_texts_done(&texts);
	return r;
}

static int append_host(struct buffer *out, const struct proposal_host *h)
{
	char rule[EGRESS_RULE_TEXT_MAX];
	int r;

	proposal_format_host(h, rule);
	r = buffer_printf(out, "  %-40s %llu connection%s", rule, (unsigned long long)h->count,
			  h->count == 1 ? "" : "s");
	for (size_t i = 0; r == 0 && i < h->n_programs; i++) {
		r = buffer_append_string(out, i == 0 ? ", by " : ", ");
		if (r == 0)
			r = escape_append(out, h->programs[i], strlen(h->programs[i]));
	}
	if (r == 0 && h->n_more > 0)
		r = buffer_append_string(out, ", …");
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int print(const struct proposal *p)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	char rule[EGRESS_RULE_TEXT_MAX];
	int r = p->n_hosts == 0 ? buffer_append_string(&out, "Nothing was learned that is not allowed already.\n") : 0;

	for (size_t i = 0; r == 0 && i < p->n_hosts; i++)
		r = append_host(&out, &p->hosts[i]);
	for (size_t i = 0; r == 0 && i < p->n_wildcards; i++) {
		proposal_format_wildcard(&p->wildcards[i], rule);
		r = buffer_printf(&out, "%s  %-40s in place of %zu hosts\n",
				  i == 0 ? "With --wildcards, which let through names that nobody has seen yet:\n" : "",
				  rule, p->wildcards[i].n_hosts);
	}
	if (r == 0 && p->more > 0)
		r = buffer_printf(&out, "%llu connections to further hosts are left out.\n",
				  (unsigned long long)p->more);
	return r < 0 ? 1 : listing_print(&out);
}

static int print_json(const struct proposal *p)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	struct json_writer *w = json_write_new(&out);
	char rule[EGRESS_RULE_TEXT_MAX];

	json_write_object(w);
	json_write_key(w, "hosts");
	json_write_array(w);
	for (size_t i = 0; i < p->n_hosts; i++) {
		proposal_format_host(&p->hosts[i], rule);
		json_write_object(w);
		json_write_member_string(w, "rule", rule);
		json_write_member_integer(w, "connections", (int64_t)(p->hosts[i].count & INT64_MAX));
		json_write_key(w, "programs");
		json_write_array(w);
		for (size_t k = 0; k < p->hosts[i].n_programs; k++)
			json_write_string(w, p->hosts[i].programs[k]);
		json_write_array_end(w);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_key(w, "wildcards");
	json_write_array(w);
	for (size_t i = 0; i < p->n_wildcards; i++) {
		proposal_format_wildcard(&p->wildcards[i], rule);
		json_write_object(w);
		json_write_member_string(w, "rule", rule);
		json_write_member_integer(w, "hosts", (int64_t)p->wildcards[i].n_hosts);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_member_integer(w, "more", (int64_t)(p->more & INT64_MAX));
	json_write_object_end(w);
	if (json_write_finish(w) < 0 || buffer_append_string(&out, "\n") < 0)
		return 1;
	return listing_print(&out);
}

struct rule_texts {
	char (*texts)[EGRESS_RULE_TEXT_MAX];
	const char **items;
	size_t count;
};

static void rule_texts_done(struct rule_texts *r)
{
	free(r->texts);
	free(r->items);
}

static int make_rules(const struct proposal *p, bool wildcards, struct rule_texts *ret)
{
	size_t room = p->n_hosts + p->n_wildcards + 1;

	ret->texts = calloc(room, sizeof(*ret->texts));
	ret->items = calloc(room, sizeof(*ret->items));
	if (!ret->texts || !ret->items)
		return -ENOMEM;
	for (size_t i = 0; wildcards && i < p->n_wildcards; i++)
		proposal_format_wildcard(&p->wildcards[i], ret->texts[ret->count++]);
	for (size_t i = 0; i < p->n_hosts; i++)
		if (!wildcards || !proposal_wildcard_of(p, &p->hosts[i]))
			proposal_format_host(&p->hosts[i], ret->texts[ret->count++]);
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i] = ret->texts[i];
	return 0;
}

static int write_rules(const struct learn_options *o, const char *project, const struct proposal *p, struct error *e)
{
	__attribute__((cleanup(rule_texts_done))) struct rule_texts rules = { .count = 0 };
	_cleanup_free_ char *file = o->write ? strdup(o->write)
				    : o->project
					    ? policy_store_project_path(project)
					    : policy_texts_user_path(policy_texts_home(), getenv("XDG_CONFIG_HOME"));

	if (!file)
		return error_set(e, ERROR_INVALID, ENOENT, "learn", "", "There is no home folder to keep it in.");
	if (make_rules(p, o->wildcards, &rules) < 0)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "learn", "", "There is no memory left.");
	return policy_store_allow(file, o->project ? project : NULL, rules.items, rules.count, o->yes, e);
}

static int learn(const struct client *client, const struct learn_options *o, const char *session, struct error *e)
{
	_cleanup_proposal_ struct proposal p = { .hosts = NULL };
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *found = reload_find(client, session, &call, e);
	_cleanup_free_ char *project = found ? reload_project(found) : NULL;
	bool asks = o->yes || o->write || isatty(STDIN_FILENO);
	int r;

	if (!found || !project)
		return -ENOENT;
	r = read_log(client, session, &p, e);
	if (r == 0)
		r = drop_known(project, &p, e);
	if (r == 0 && proposal_find_wildcards(&p, registrable_part) < 0)
		r = error_set(e, ERROR_INTERNAL, ENOMEM, "learn", "", "There is no memory left.");
	if (r < 0)
		return r;
	if (o->json)
		return print_json(&p) ? -EIO : 0;
	if (print(&p))
		return -EIO;
	if (p.n_hosts > 0 && !asks)
		fputs("isoctl: nothing is written without a terminal to ask on; --yes writes these rules.\n", stderr);
	return p.n_hosts > 0 && asks ? write_rules(o, project, &p, e) : 0;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct learn_options *o = filled;
	struct error e = ERROR_INIT;
	int r;

	if (o->write && o->project) {
		error_set(&e, ERROR_INVALID, EINVAL, "options", "Leave out one of them.",
			  "--write and --project name two different files.");
		report_error(&e);
		return EXIT_USAGE;
	}
	r = learn(client, o, operands[0], &e);
	if (r < 0 && e.message[0])
		report_error(&e);
	return r < 0 ? 1 : 0;
}

const struct command command_policy_learn = {
	.name = "policy learn",
	.operands = "SESSION",
	.summary = "Make rules of what a session reached under onUnlisted: learn",
	.details = "SESSION: its id or name, of one that runs or has ended. One rule for each host and port that no "
		   "rule of yours\n"
		   "allows or denies by now; what is to be written is shown, and you are asked. Look at each of them: "
		   "the session\n"
		   "chose these hosts.\n",
	.options = options,
	.options_size = sizeof(struct learn_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
