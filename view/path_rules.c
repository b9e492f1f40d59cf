#include "view/path_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "view/path_pattern.h"

struct path_rules {
	const struct path_rule *rules;
	size_t n;
};

int path_rules_new(const struct path_rule *rules, size_t n, struct path_rules **ret)
{
	struct path_rules *r;

	for (size_t i = 0; i < n; i++)
		if (rules[i].effect == 0 || rules[i].effect >= PATH_EFFECT_END ||
		    rules[i].flags & ~(uint32_t)PATH_RULE_FLAGS_ALL || rules[i].pattern[0] != '/')
			return -EINVAL;
	r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->rules = rules;
	r->n = n;
	*ret = r;
	return 0;
}

struct path_rules *path_rules_free(struct path_rules *r)
{
	free(r);
	return NULL;
}

size_t path_rules_count(const struct path_rules *r)
{
	return r->n;
}

const struct path_rule *path_rules_get(const struct path_rules *r, size_t i)
{
	return &r->rules[i];
}

/* Rules that are as deep as each other, the strongest last. */
enum rank {
	RANK_NOTHING,
	RANK_READ,
	RANK_WRITE,
	RANK_PROTECTION,
	RANK_NAMED_READ, /* an allow of the user's that names the very path */
	RANK_NAMED_WRITE,
	RANK_DENY,
};

static enum rank rank_of(const struct path_rule *rule, bool write)
{
	bool named = !(rule->flags & PATH_RULE_BUILT_IN) && path_pattern_ends_literal(rule->pattern);

	switch (rule->effect) {
	case PATH_EXEMPT:
		return RANK_NOTHING;
	case PATH_DENY_WRITE:
		if (!write)
			return RANK_NOTHING;
		/* fall through */
	case PATH_DENY_READ:
		return rule->flags & PATH_RULE_BUILT_IN ? RANK_PROTECTION : RANK_DENY;
	case PATH_ALLOW_READ:
		return named ? RANK_NAMED_READ : RANK_READ;
	default:
		return named ? RANK_NAMED_WRITE : RANK_WRITE;
	}
}

static unsigned depth_of(const struct path_rule *rule, const char *path, enum path_kind kind)
{
	unsigned depth = 0;

	if (!(rule->flags & PATH_RULE_FILES_ONLY))
		return path_pattern_depth(rule->pattern, path);
	/* What lies below something is no file. */
	if (kind == PATH_FOLDER || !path_pattern_match(rule->pattern, path))
		return 0;
	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

struct choice {
	unsigned depth;
	enum rank rank;
	uint32_t rule;
};

static void weigh(struct choice *best, const struct path_rule *rule, uint32_t index, unsigned depth, bool write)
{
	enum rank rank = rank_of(rule, write);

	if (rank == RANK_NOTHING || depth < best->depth || (depth == best->depth && rank <= best->rank))
		return;
	*best = (struct choice){ .depth = depth, .rank = rank, .rule = index };
}

/* path is a proper leading part of the rule's pattern, named by a literal component after the last "**". */
static bool is_leading(const struct path_rule *rule, const char *path)
{
	const char *pattern = rule->pattern, *from = pattern, *at;

	if (rule->effect != PATH_DENY_READ && rule->effect != PATH_DENY_WRITE)
		return false;
	for (at = pattern; (at = strstr(at, "/**/")) != NULL; at += 3)
		from = at + 3;
	for (at = strchr(from + 1, '/'); at; at = strchr(at + 1, '/')) {
		char part[LIMIT_PATH];
		size_t n = (size_t)(at - pattern);

		if (n >= sizeof(part))
			return false;
		memcpy(part, pattern, n);
		part[n] = '\0';
		if (path_pattern_ends_literal(part) && path_pattern_match(part, path))
			return true;
	}
	return false;
}

static enum path_access access_of(const struct path_rules *r, const struct path_verdict *v)
{
	if (v->read_rule == PATH_NO_RULE)
		return PATH_ABSENT;
	if (r->rules[v->read_rule].effect == PATH_DENY_READ)
		return PATH_DENIED;
	if (v->write_rule == PATH_NO_RULE)
		return PATH_READABLE;
	if (r->rules[v->write_rule].effect == PATH_ALLOW_WRITE)
		return PATH_WRITABLE;
	return r->rules[v->write_rule].effect == PATH_OVERLAY ? PATH_OVERLAID : PATH_READABLE;
}

void path_rules_decide(const struct path_rules *r, const char *path, enum path_kind kind, struct path_verdict *ret)
{
	struct choice read = { .rule = PATH_NO_RULE }, write = { .rule = PATH_NO_RULE };
	unsigned exempt = 0;

	*ret = (struct path_verdict){ 0 };
	for (size_t i = 0; i < r->n; i++)
		if (r->rules[i].effect == PATH_EXEMPT) {
			unsigned depth = depth_of(&r->rules[i], path, kind);

			exempt = depth > exempt ? depth : exempt;
		}
	for (size_t i = 0; i < r->n; i++) {
		const struct path_rule *rule = &r->rules[i];
		unsigned depth = depth_of(rule, path, kind);

		ret->keep |= is_leading(rule, path);
		if (depth == 0 || (rule->flags & PATH_RULE_BUILT_IN && depth <= exempt &&
				   (rule->effect == PATH_DENY_READ || rule->effect == PATH_DENY_WRITE)))
			continue;
		weigh(&read, rule, (uint32_t)i, depth, false);
		weigh(&write, rule, (uint32_t)i, depth, true);
	}
	ret->read_rule = read.rule;
	ret->write_rule = write.rule;
	ret->access = access_of(r, ret);
}

bool path_rules_concern_below(const struct path_rules *r, const char *folder)
{
	for (size_t i = 0; i < r->n; i++)
		if (!path_pattern_is_literal(r->rules[i].pattern))
			return true;
	return false;
}
