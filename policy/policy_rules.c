#include "policy/policy_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "view/path_pattern.h"
#include "view/toolchain.h"

struct building {
	const struct policy *policy;
	const char *home;
	const char *project;
	struct policy_rules *rules;
	struct error *error;
};

static const char *const keys[POLICY_RULE_KIND_COUNT] = {
	[POLICY_RULE_PROJECT] = "",
	[POLICY_RULE_ALLOW_READ] = "sandbox.filesystem.allowRead",
	[POLICY_RULE_ALLOW_WRITE] = "sandbox.filesystem.allowWrite",
	[POLICY_RULE_OVERLAY] = "sandbox.filesystem.overlay",
	[POLICY_RULE_DENY_READ] = "sandbox.filesystem.denyRead",
	[POLICY_RULE_DENY_WRITE] = "sandbox.filesystem.denyWrite",
	[POLICY_RULE_DEVICE] = "sandbox.filesystem.devices",
	[POLICY_RULE_TOOLCHAIN] = "sandbox.filesystem.toolchains",
	[POLICY_RULE_CACHE] = "sandbox.filesystem.caches",
	[POLICY_RULE_PROTECT] = "sandbox.filesystem.protect",
};

const char *policy_rule_key(enum policy_rule_kind kind)
{
	return (unsigned)kind < POLICY_RULE_KIND_COUNT ? keys[kind] : "";
}

static const char *const effects[] = {
	[PATH_ALLOW_READ] = "allow-read", [PATH_ALLOW_WRITE] = "allow-write", [PATH_OVERLAY] = "overlay",
	[PATH_DENY_READ] = "deny-read",   [PATH_DENY_WRITE] = "deny-write",   [PATH_EXEMPT] = "exempt",
};
_Static_assert(ARRAY_SIZE(effects) == PATH_EFFECT_END, "one name an effect");

const char *policy_rule_effect(uint32_t effect)
{
	return effect > 0 && effect < PATH_EFFECT_END ? effects[effect] : "";
}

static int no_memory(const struct building *b)
{
	return error_set(b->error, ERROR_INTERNAL, ENOMEM, "", NULL, "There is no memory for the policy.");
}

static int make_room(const struct building *b)
{
	struct policy_rules *r = b->rules;
	size_t room = r->room ? r->room * 2 : 256;
	struct path_rule *rules;
	struct policy_rule_source *sources;

	if (r->n < r->room)
		return 0;
	rules = reallocarray(r->rules, room, sizeof(*rules));
	if (!rules)
		return no_memory(b);
	r->rules = rules;
	sources = reallocarray(r->sources, room, sizeof(*sources));
	if (!sources)
		return no_memory(b);
	r->sources = sources;
	r->room = room;
	return 0;
}

/* Takes a copy of pattern. */
static int add(const struct building *b, const struct path_rule *rule, const char *pattern,
	       const struct policy_rule_source *source)
{
	struct policy_rules *r = b->rules;
	int e;

	r->bytes += strlen(pattern) + 1;
	if (r->n == LIMIT_PLAN_RULES || r->bytes > LIMIT_PLAN)
		return error_set(b->error, ERROR_LIMIT, E2BIG, "filesystem rules", NULL,
				 "There are more than %d rules for paths, or they are longer than %u bytes.",
				 LIMIT_PLAN_RULES, LIMIT_PLAN);
	e = make_room(b);
	if (e < 0)
		return e;
	r->rules[r->n] = *rule;
	r->rules[r->n].pattern = strdup(pattern);
	if (!r->rules[r->n].pattern)
		return no_memory(b);
	r->sources[r->n++] = *source;
	return 0;
}

static int add_project(const struct building *b)
{
	const struct path_rule rule = { .effect = b->policy->overlay_project.on ? PATH_OVERLAY : PATH_ALLOW_WRITE };
	const struct policy_rule_source source = { .kind = POLICY_RULE_PROJECT,
						   .text = "",
						   .origin = b->policy->overlay_project.origin };
	char pattern[LIMIT_PATH];

	if (path_pattern_escape(b->project, pattern, sizeof(pattern)) < 0)
		return error_set(b->error, ERROR_INVALID, ENAMETOOLONG, "", NULL, "The project's path is too long.");
	return add(b, &rule, pattern, &source);
}

static int add_list(const struct building *b, const struct policy_list *list, enum policy_rule_kind kind,
		    enum path_effect effect)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct path_rule rule = { .effect = effect };
		const struct policy_rule_source source = { .kind = kind,
							   .text = list->items[i].text,
							   .origin = list->items[i].origin };
		char pattern[LIMIT_PATH];
		int r = policy_path_expand(list->items[i].text, b->home, b->project, pattern, sizeof(pattern),
					   b->error);

		if (r == 0)
			r = add(b, &rule, pattern, &source);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_lists(const struct building *b)
{
	const struct policy *p = b->policy;
	const struct {
		const struct policy_list *list;
		enum policy_rule_kind kind;
		enum path_effect effect;
	} lists[] = {
		{ &p->allow_read, POLICY_RULE_ALLOW_READ, PATH_ALLOW_READ },
		{ &p->allow_write, POLICY_RULE_ALLOW_WRITE, PATH_ALLOW_WRITE },
		{ &p->overlay, POLICY_RULE_OVERLAY, PATH_OVERLAY },
		{ &p->deny_read, POLICY_RULE_DENY_READ, PATH_DENY_READ },
		{ &p->deny_write, POLICY_RULE_DENY_WRITE, PATH_DENY_WRITE },
		{ &p->devices, POLICY_RULE_DEVICE, PATH_ALLOW_WRITE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		int r = add_list(b, lists[i].list, lists[i].kind, lists[i].effect);

		if (r < 0)
			return r;
	}
	return 0;
}

/* One rule of a table. What is about a HOME that is none, or whose path is too long for it, cannot be there. */
static int add_built_in(const struct building *b, const struct path_rule *rule, enum policy_rule_kind kind,
			const struct policy_switch *s)
{
	const struct policy_rule_source source = { .kind = kind, .text = rule->pattern, .origin = s->origin };
	char pattern[LIMIT_PATH];
	bool about_home = rule->pattern[0] == '~';

	if (!s->on || (about_home && (b->home[0] != '/' || b->home[1] == '\0')))
		return 0;
	if (policy_path_expand(rule->pattern, b->home, b->project, pattern, sizeof(pattern), NULL) < 0)
		return 0;
	return add(b, rule, pattern, &source);
}

static int add_table(const struct building *b, const struct path_rule *table, size_t n, enum policy_rule_kind kind,
		     const struct policy_switch *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_built_in(b, &table[i], kind, s ? s : &b->policy->protect[table[i].group]);
	return r;
}

int policy_rules_build(const struct policy *p, const char *home, const char *project, struct policy_rules *ret,
		       struct error *e)
{
	const struct building b = { .policy = p, .home = home, .project = project, .rules = ret, .error = e };
	int r;

	*ret = (struct policy_rules)POLICY_RULES_INIT;
	r = add_project(&b);
	if (r == 0)
		r = add_lists(&b);
	if (r == 0)
		r = add_table(&b, toolchain_rules, n_toolchain_rules, POLICY_RULE_TOOLCHAIN, &p->toolchains);
	if (r == 0)
		r = add_table(&b, cache_rules, n_cache_rules, POLICY_RULE_CACHE, &p->caches);
	if (r == 0)
		r = add_table(&b, protect_rules, n_protect_rules, POLICY_RULE_PROTECT, NULL);
	return r;
}

void policy_rules_done(struct policy_rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		free((char *)r->rules[i].pattern);
	free(r->rules);
	free(r->sources);
	*r = (struct policy_rules)POLICY_RULES_INIT;
}
