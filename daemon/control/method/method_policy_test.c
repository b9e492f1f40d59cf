/* PolicyTest: the file view that Run would make, asked about one path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/plan/plan_mounts.h"
#include "daemon/control/plan/plan_rules.h"
#include "daemon/control/plan/policy_merge.h"
#include "daemon/control/plan/view_links.h"
#include "daemon/control/plan/view_paths.h"
#include "json/write.h"
#include "proto/schema.h"
#include "view/etc_hidden.h"
#include "view/protect.h"

static const char *const access_names[] = {
	[PATH_ABSENT] = "absent",    [PATH_DENIED] = "denied",     [PATH_READABLE] = "readable",
	[PATH_OVERLAID] = "overlay", [PATH_WRITABLE] = "writable",
};

static const char *const kind_names[] = {
	[PATH_FILE] = "file",
	[PATH_FOLDER] = "folder",
	[PATH_FILE_WITHOUT_TOKEN] = "file-without-token",
};

static int read_kind(const char *name, enum path_kind *ret, struct error *e)
{
	*ret = PATH_ANY;
	for (size_t i = PATH_FILE; name && i < ARRAY_SIZE(kind_names); i++)
		if (strcmp(kind_names[i], name) == 0)
			*ret = (enum path_kind)i;
	if (name && *ret == PATH_ANY)
		return error_set(e, ERROR_INVALID, EINVAL, "kind", NULL,
				 "The kind must be \"file\", \"folder\" or \"file-without-token\".");
	return 0;
}

/* What stands at a path that no rule is about: the deepest part of the view that path lies in. */
static const char *place_of(const struct plan_built *b, const char *path)
{
	const struct plan_mount *over = NULL;

	for (size_t i = 0; i < b->plan.n_mounts; i++)
		if (view_path_is_within(path, b->mounts[i].target) &&
		    (!over || strlen(b->mounts[i].target) >= strlen(over->target)))
			over = &b->mounts[i];
	if (!over)
		return "absent";
	switch (over->type) {
	case PLAN_MOUNT_BIND:
		return over->flags & PLAN_GRANT ? "absent" : "system";
	case PLAN_MOUNT_ETC:
		return etc_hidden_holds(path) ? "denied" : "system";
	case PLAN_MOUNT_PROC:
	case PLAN_MOUNT_DEV:
	case PLAN_MOUNT_SYS:
	case PLAN_MAKE_LINK:
	case PLAN_MAKE_SOCKET:
		return "system";
	case PLAN_MOUNT_TMPFS:
	case PLAN_MOUNT_SCRATCH:
		return "private";
	default:
		return "absent";
	}
}

/* The place of the rule in a policy, with the protection's own name behind it. */
static void write_key(struct json_writer *w, const struct path_rule *rule, const struct policy_rule_source *source)
{
	const char *key = policy_rule_key(source->kind);
	char text[96];

	if (source->kind == POLICY_RULE_PROTECT)
		snprintf(text, sizeof(text), "%s.%s", key, protect_names[rule->group].name);
	else
		snprintf(text, sizeof(text), "%s", source->kind == POLICY_RULE_PROJECT ? "project" : key);
	json_write_member_string(w, "key", text);
}

static void write_bytes(struct json_writer *w, const char *name, const char *bytes)
{
	json_write_key(w, name);
	json_write_bytes(w, bytes, strlen(bytes));
}

#define FROM_SIZE (LIMIT_PATH + 64)

static void format_from(const struct policy_origin *origin, char text[FROM_SIZE])
{
	if (origin->path && origin->path[0])
		snprintf(text, FROM_SIZE, "%s %s:%u", policy_layer_name(origin->layer), origin->path, origin->line);
	else
		snprintf(text, FROM_SIZE, "%s", policy_layer_name(origin->layer));
}

/* The strongest first, until the reply would be larger than a message may be: the others are only counted. */
static void write_rules(const struct connection *c, struct json_writer *w, const struct plan_built *b,
			const struct path_holding *holding, size_t n, const struct path_verdict *v)
{
	size_t more = 0;

	json_write_key(w, "rules");
	json_write_array(w);
	for (size_t i = 0; i < n; i++) {
		const struct path_rule *rule = &b->plan.rules[holding[i].rule];
		const struct policy_rule_source *source = &b->rules.sources[holding[i].rule];
		bool decides = holding[i].rule == v->read_rule || holding[i].rule == v->write_rule;
		char from[FROM_SIZE];

		format_from(&source->origin, from);
		if (more > 0 || !connection_reply_has_room(
					c, 256 + 6 * (strlen(source->text) + strlen(rule->pattern) + strlen(from)))) {
			more++;
			continue;
		}
		json_write_object(w);
		write_key(w, rule, source);
		write_bytes(w, "text", source->text);
		write_bytes(w, "pattern", rule->pattern);
		json_write_member_string(w, "effect", policy_rule_effect(rule->effect));
		write_bytes(w, "from", from);
		json_write_member_string(w, "state",
					 holding[i].set_aside ? "set-aside"
					 : decides            ? "decides"
							      : "holds");
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_member_integer(w, "more", (int64_t)more);
}

static int reply(struct connection *c, const struct plan_built *b, const char *path, enum path_kind kind,
		 struct error *e)
{
	_cleanup_path_rules_ struct path_rules *rules = NULL;
	_cleanup_free_ struct path_holding *holding = calloc(b->plan.n_rules + (size_t)1, sizeof(*holding));
	struct path_verdict v;
	struct json_writer *w;
	const char *access;
	size_t n;

	if (!holding || path_rules_new(b->plan.rules, b->plan.n_rules, &rules) < 0)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "policy", NULL, "There is no memory left.");
	path_rules_bound(rules, LIMIT_PLAN_WORK);
	path_rules_decide(rules, path, kind, &v);
	n = path_rules_holding(rules, path, kind, holding);
	if (plan_rules_check_work(rules, e) < 0)
		return -E2BIG;
	access = v.access == PATH_ABSENT ? place_of(b, path) : access_names[v.access];
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_member_string(w, "access", access);
		json_write_member_bool(w, "read", v.access > PATH_DENIED || strcmp(access, "system") == 0);
		json_write_member_bool(w, "write", v.access == PATH_WRITABLE || v.access == PATH_OVERLAID);
		write_bytes(w, "real", path);
		write_rules(c, w, b, holding, n, &v);
	}
	connection_reply_end(c, w);
	return 0;
}

/* The path in the spelling that the rules have. */
static int resolve(const struct plan_input *in, const char *path, struct plan_built *b, const char **ret,
		   struct error *e)
{
	_cleanup_view_links_ struct view_links links = VIEW_LINKS_INIT;
	int r;

	*ret = path;
	if (!plan_path_is_clean(path))
		return error_set(e, ERROR_INVALID, EINVAL, "path", NULL, "The path must be absolute and clean.");
	r = view_links_build(in->probe, &in->run->links, in->run->cwd, &links);
	if (r == 0)
		r = view_links_resolve_path(&links, path, &b->texts, ret);
	return r < 0 ? error_set(e, r == -ENOMEM ? ERROR_INTERNAL : ERROR_INVALID, -r, "path", NULL,
				 "The path cannot be followed: %s.", strerror(-r))
		     : 0;
}

int method_policy_test(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct policy_test_parameters *p = parameters;
	const struct run_parameters run = { .cwd = p->cwd, .pwd = p->pwd, .links = p->links };
	_cleanup_caller_ struct caller caller = CALLER_INIT;
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	struct policy policy = { 0 };
	const struct plan_input input = {
		.id = "", .caller = &caller, .run = &run, .policy = &policy, .probe = &c->control->probe
	};
	const char *path = NULL;
	bool links_made;
	enum path_kind kind;
	int r = read_kind(p->kind, &kind, e);

	if (r == 0)
		r = policy_merge(c->control->config_fd, &p->policies, &policy, e);
	if (r == 0)
		r = caller_look_up(c->uid, c->gid, &caller, e);
	if (r == 0)
		r = plan_mounts_build(&input, &built, &links_made, e);
	if (r == 0)
		r = resolve(&input, p->path, &built, &path, e);
	if (r == 0)
		r = reply(c, &built, path, kind, e);
	policy_done(&policy);
	return r;
}
