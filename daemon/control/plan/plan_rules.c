#include "daemon/control/plan/plan_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/plan/view_paths.h"
#include "view/path_pattern.h"

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "plan", NULL, "There is no memory left.");
}

void plan_rules_done(struct plan_rules *r)
{
	r->compiled = path_rules_free(r->compiled);
}

int plan_rules_blame(const struct plan_rules *r, size_t rule, struct error *e, int ret)
{
	const struct policy_rule_source *source = &r->sources[rule];
	const char *key = policy_rule_key(source->kind);

	if (source->origin.path && source->origin.path[0] != '\0')
		snprintf(e->step, sizeof(e->step), "%s:%u: %s", source->origin.path, source->origin.line, key);
	else
		snprintf(e->step, sizeof(e->step), "%s", key);
	return ret;
}

const char *plan_rules_path(const char *pattern, struct string_list *into)
{
	char path[LIMIT_PATH];

	if (!strchr(pattern, '\\'))
		return pattern;
	return path_pattern_unescape(pattern, path, sizeof(path)) < 0 ? NULL : string_list_add(into, path);
}

const char *plan_rules_base(const char *pattern, struct string_list *into)
{
	char text[LIMIT_PATH], path[LIMIT_PATH];
	size_t len = strlen(pattern);

	if (len >= sizeof(text))
		return NULL;
	memcpy(text, pattern, len + 1);
	do
		text[len = (size_t)(strrchr(text, '/') - text)] = '\0';
	while (len > 0 && !path_pattern_is_literal(text));
	if (len == 0)
		return string_list_add(into, "/");
	return path_pattern_unescape(text, path, sizeof(path)) < 0 ? NULL : string_list_add(into, path);
}

bool plan_rules_name(const struct plan_rules *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if ((r->sources[i].kind == POLICY_RULE_ALLOW_WRITE || r->sources[i].kind == POLICY_RULE_OVERLAY) &&
		    path_pattern_is_literal(r->rules[i].pattern) && path_rules_depth(r->compiled, i, path) > 0)
			return true;
	return false;
}

bool plan_rules_keep_secret(const struct plan_rules *r, const char *path)
{
	unsigned kept = 0, exempt = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct path_rule *rule = &r->rules[i];
		unsigned *depth = rule->effect == PATH_DENY_READ ? &kept : &exempt, here;

		if (!(rule->flags & PATH_RULE_BUILT_IN) || rule->flags & PATH_RULE_FILES_ONLY ||
		    (rule->effect != PATH_DENY_READ && rule->effect != PATH_EXEMPT))
			continue;
		here = path_rules_depth(r->compiled, i, path);
		if (here > *depth)
			*depth = here;
	}
	return kept > exempt;
}

int plan_rules_check_work(const struct path_rules *compiled, struct error *e)
{
	if (!path_rules_is_spent(compiled))
		return 0;
	return error_set(
		e, ERROR_LIMIT, E2BIG, "filesystem rules",
		"Name folders instead of patterns, above all instead of those with \"**\" in the middle.",
		"The rules for paths take too long to decide: too many patterns about paths that are too deep.");
}

static int check_grant(const char *pattern, struct string_list *texts, struct error *e)
{
	const char *path = path_pattern_is_literal(pattern) ? plan_rules_path(pattern, texts) : NULL;

	if (path)
		return view_rule_check(path, e);
	path = plan_rules_base(pattern, texts);
	return path ? view_pattern_check(pattern, path, e) : no_memory(e);
}

/* A denial that would be none: the kernel's trees are made anew in each session. */
static int check_denial(const struct plan_input *in, struct plan_built *b, const char *pattern, struct error *e)
{
	const char *base = path_pattern_is_literal(pattern) ? plan_rules_path(pattern, &b->texts)
							    : plan_rules_base(pattern, &b->texts);

	if (!base)
		return no_memory(e);
	if (!view_path_is_kernels(base))
		return 0;
	if (!in->policy->degraded.on)
		return error_set(
			e, ERROR_POLICY, EOPNOTSUPP, NULL, "Take the rule out.",
			"The rule for %s cannot be enforced: every sandbox has a /proc, /sys and /dev of its own.",
			pattern);
	if (!string_list_printf(&b->lacking,
				"The rule for %s is not enforced: /proc, /sys and /dev are the sandbox's own.",
				pattern))
		return no_memory(e);
	return 0;
}

static int check(const struct plan_input *in, struct plan_built *b, const struct plan_rules *r, struct error *e)
{
	for (size_t i = 0; i < r->n; i++) {
		int result = 0;

		switch (r->sources[i].kind) {
		case POLICY_RULE_ALLOW_READ:
		case POLICY_RULE_ALLOW_WRITE:
		case POLICY_RULE_OVERLAY:
			result = check_grant(r->rules[i].pattern, &b->texts, e);
			break;
		case POLICY_RULE_DENY_READ:
		case POLICY_RULE_DENY_WRITE:
			result = check_denial(in, b, r->rules[i].pattern, e);
			break;
		default:
			break;
		}
		if (result < 0)
			return plan_rules_blame(r, i, e, result);
	}
	return 0;
}

/* The rules of the policy, in the spelling without known links. */
static int expand(const struct plan_input *in, const struct view_links *links, struct plan_built *b,
		  struct plan_rules *ret, struct error *e)
{
	size_t bytes = 0;
	int r = policy_rules_build(in->policy, ret->home, ret->project, &b->rules, e);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "plan", NULL, "The rules of the policy cannot be laid out.");
	b->plan_rules = calloc(b->rules.n + 1, sizeof(*b->plan_rules));
	if (!b->plan_rules)
		return no_memory(e);
	for (size_t i = 0; i < b->rules.n; i++) {
		b->plan_rules[i] = b->rules.rules[i];
		r = view_links_resolve(links, b->rules.rules[i].pattern, &b->texts, &b->plan_rules[i].pattern);
		if (r < 0)
			return error_set(e, ERROR_POLICY, -r, b->rules.sources[i].text, NULL,
					 "The path of the rule cannot be followed: %s.", strerror(-r));
		bytes += strlen(b->plan_rules[i].pattern) + 1;
		if (bytes > LIMIT_PLAN)
			return error_set(e, ERROR_LIMIT, E2BIG, "filesystem rules", NULL,
					 "What the links of the rules for paths lead to is longer than %u bytes.",
					 LIMIT_PLAN);
	}
	b->plan.rules = ret->rules = b->plan_rules;
	b->plan.n_rules = (uint32_t)b->rules.n;
	ret->sources = b->rules.sources;
	ret->n = b->rules.n;
	return 0;
}

int plan_rules_build(const struct plan_input *in, const struct view_links *links, struct plan_built *built,
		     struct plan_rules *ret, struct error *e)
{
	int r = view_links_resolve_path(links, in->caller->home, &built->texts, &ret->home);

	if (r == -ENOMEM)
		return no_memory(e);
	/* A home that leads nowhere, or into the system, is a folder of the session's under the name that it has. */
	if (r < 0 || !view_home_is_usable(ret->home))
		ret->home = in->caller->home;
	ret->project = in->run->cwd;
	r = expand(in, links, built, ret, e);
	if (r == 0)
		r = check(in, built, ret, e);
	if (r < 0)
		return r;
	r = path_rules_new(ret->rules, ret->n, &ret->compiled);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "plan", NULL, "The rules for paths cannot be compiled.");
	path_rules_bound(ret->compiled, LIMIT_PLAN_WORK);
	return 0;
}
