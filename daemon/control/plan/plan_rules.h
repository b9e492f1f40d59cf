#ifndef ISOD_CONTROL_PLAN_RULES_H
#define ISOD_CONTROL_PLAN_RULES_H
/* The path rules of a plan: expanded, without known links, checked, compiled. Pure. */
#include "daemon/control/plan/plan_build.h"
#include "daemon/control/plan/view_links.h"

struct plan_rules {
	const struct path_rule *rules;            /* of the plan */
	const struct policy_rule_source *sources; /* of rules[i] */
	size_t n;
	struct path_rules *compiled;
	const char *home; /* without known links */
	const char *project;
};

#define PLAN_RULES_INIT                                                                                                \
	{                                                                                                              \
		.rules = NULL                                                                                          \
	}

/* Fills built->plan.rules, too. What *ret points to is built's, but for compiled. 0 or -errno with *e;
 * plan_rules_done() in any case. */
int plan_rules_build(const struct plan_input *in, const struct view_links *links, struct plan_built *built,
		     struct plan_rules *ret, struct error *e);
void plan_rules_done(struct plan_rules *r);
#define _cleanup_plan_rules_ __attribute__((cleanup(plan_rules_done)))

/* The path of a pattern without wildcards: the pattern itself, or a text of into. NULL: no memory. */
const char *plan_rules_path(const char *pattern, struct string_list *into);

/* The deepest folder that holds all matches of a pattern with wildcards, as a path ("/" at least); same result. */
const char *plan_rules_base(const char *pattern, struct string_list *into);

/* A rule of the user's own lets the session write to path: it is meant to be a project, whatever it holds. */
bool plan_rules_name(const struct plan_rules *r, const char *path);

/* A built-in protection keeps the folder path, or one that it lies in, from being read: ~/.ssh. */
bool plan_rules_keep_secret(const struct plan_rules *r, const char *path);

/* -E2BIG with *e where the evaluator has spent LIMIT_PLAN_WORK: its verdicts were none. */
int plan_rules_check_work(const struct path_rules *compiled, struct error *e);

/* Puts where the rule stands in front of what *e says. Returns r. */
int plan_rules_blame(const struct plan_rules *r, size_t rule, struct error *e, int ret);

#endif
