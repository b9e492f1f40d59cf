/* Which changes touch what runs on the host later, or what holds secrets: the built-in protections, asked again. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"
#include "view/path_pattern.h"
#include "view/protect.h"

struct rules {
	struct path_rule *items;
	size_t count;
	char *project;                /* as a pattern */
	char (*home)[2 * LIMIT_PATH]; /* expanded patterns */
};

static void rules_done(struct rules *r)
{
	free(r->items);
	free(r->project);
	free(r->home);
}

/* "~/x" below the user's home; false where it has none. */
static bool expand_home(const char *pattern, char *ret, size_t size)
{
	const char *home = getenv("HOME");
	size_t n;

	if (!home || home[0] != '/' || path_pattern_escape(home, ret, size) < 0)
		return false;
	n = strlen(ret);
	return (size_t)snprintf(ret + n, size - n, "%s", pattern + 1) < size - n;
}

static int rules_fill(const struct layer *l, struct rules *r)
{
	r->items = calloc(n_protect_rules + 1, sizeof(*r->items));
	r->home = calloc(n_protect_rules, sizeof(*r->home));
	r->project = malloc(2 * LIMIT_PATH);
	if (!r->items || !r->home || !r->project)
		return -ENOMEM;
	if (path_pattern_escape(l->project, r->project, 2 * LIMIT_PATH) < 0)
		return -ENAMETOOLONG;
	r->items[r->count++] = (struct path_rule){ .effect = PATH_ALLOW_WRITE, .pattern = r->project };
	for (size_t i = 0; i < n_protect_rules; i++) {
		struct path_rule rule = protect_rules[i];

		if (!protect_names[rule.group].on)
			continue;
		if (rule.pattern[0] == '~') {
			if (!expand_home(rule.pattern, r->home[i], sizeof(r->home[i])))
				continue;
			rule.pattern = r->home[i];
		}
		r->items[r->count++] = rule;
	}
	return 0;
}

static uint32_t group_of(const struct path_rules *rules, const char *path, enum path_kind kind, bool goes)
{
	struct path_verdict v;
	uint32_t index;

	path_rules_decide(rules, path, kind, &v);
	index = v.write_rule != PATH_NO_RULE ? v.write_rule : v.read_rule;
	if (v.access != PATH_WRITABLE && index != PATH_NO_RULE &&
	    path_rules_get(rules, index)->flags & PATH_RULE_BUILT_IN)
		return path_rules_get(rules, index)->group;
	/* A folder such as .git stands for what is protected in it; another in its place brings its own. */
	return goes && v.keep ? PROTECT_GIT_CONFIG : PROTECT_NONE;
}

int layer_protect_mark(const struct layer *l, struct changes *c)
{
	__attribute__((cleanup(rules_done))) struct rules r = { .items = NULL };
	_cleanup_path_rules_ struct path_rules *rules = NULL;
	_cleanup_free_ char *path = malloc(2 * LIMIT_PATH);
	int result = path ? rules_fill(l, &r) : -ENOMEM;

	if (result == 0)
		result = path_rules_new(r.items, r.count, &rules);
	for (size_t i = 0; result == 0 && i < c->count; i++) {
		struct change *x = &c->items[i];
		mode_t mode = x->mode ? x->mode : x->host.mode;
		enum path_kind kind = S_ISDIR(mode) ? PATH_FOLDER : PATH_FILE;
		bool goes = x->kind == CHANGE_DELETED || x->kind == CHANGE_REPLACED || S_ISLNK(mode);

		snprintf(path, 2 * LIMIT_PATH, "%s/%s", strcmp(l->project, "/") == 0 ? "" : l->project, x->path);
		x->protection = group_of(rules, path, kind, goes);
		if (x->protection != PROTECT_NONE)
			continue;
		/* In a folder that takes no account of case .GIT/hooks is .git/hooks. */
		for (char *at = path + strlen(path) - strlen(x->path); *at; at++)
			*at = (char)tolower((unsigned char)*at);
		x->protection = group_of(rules, path, kind, goes);
	}
	return result;
}
