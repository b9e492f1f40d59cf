#include "view/path_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "view/path_above.h"
#include "view/path_fold.h"
#include "view/path_index.h"
#include "view/path_pattern.h"

struct path_rules {
	const struct path_rule *given;
	const struct path_rule *rules; /* these, or .folded */
	size_t n;
	struct path_rule *folded; /* with folded patterns; NULL: names are compared as they are */
	char *folded_text;
	struct path_index *all;
	struct path_index *denied;  /* plain: what is above them is kept */
	struct path_index *leading; /* what is to be kept itself */
	char *text;                 /* of both */
	uint32_t *wild;             /* the rules whose patterns are not plain paths */
	size_t n_wild;
	uint32_t *wide; /* those among them that exempt all below a folder, or nothing there */
	size_t n_wide;
	struct path_work *work; /* of its own memory: counted by those, too, who may not change the rules */
};

static bool is_denial(const struct path_rule *rule)
{
	return rule->effect == PATH_DENY_READ || rule->effect == PATH_DENY_WRITE;
}

static int index_above(struct path_rules *r)
{
	_cleanup_free_ struct path_index_entry *plain = NULL, *parts = NULL;
	struct path_above a = { .plain = NULL };
	int e;

	path_above_collect(r->rules, r->n, &a);
	a.plain = plain = calloc(a.n_plain + 1, sizeof(*plain));
	a.parts = parts = calloc(a.n_parts + 1, sizeof(*parts));
	a.text = r->text = malloc(a.bytes + 1);
	if (!plain || !parts || !r->text)
		return -ENOMEM;
	path_above_collect(r->rules, r->n, &a);
	e = path_index_new(plain, a.n_plain, r->work, &r->denied);
	return e < 0 ? e : path_index_new(parts, a.n_parts, r->work, &r->leading);
}

static bool is_wide(const struct path_rule *rule)
{
	static const char end[] = "/**/*";
	size_t len = strlen(rule->pattern);

	return rule->effect == PATH_EXEMPT && len >= sizeof(end) &&
	       strcmp(rule->pattern + len - (sizeof(end) - 1), end) == 0;
}

static int index_rules(struct path_rules *r)
{
	_cleanup_free_ struct path_index_entry *entries = calloc(r->n + 1, sizeof(*entries));
	int e;

	r->wild = calloc(r->n + 1, sizeof(*r->wild));
	r->wide = calloc(r->n + 1, sizeof(*r->wide));
	if (!entries || !r->wild || !r->wide)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		entries[i] = (struct path_index_entry){
			.pattern = r->rules[i].pattern,
			.id = (uint32_t)i,
			.class = r->rules[i].effect << 16 | r->rules[i].flags,
		};
		if (path_pattern_is_literal(r->rules[i].pattern))
			continue;
		r->wild[r->n_wild++] = (uint32_t)i;
		if (is_wide(&r->rules[i]))
			r->wide[r->n_wide++] = (uint32_t)i;
	}
	e = path_index_new(entries, r->n, r->work, &r->all);
	return e < 0 ? e : index_above(r);
}

static int fold_rules(struct path_rules *r)
{
	size_t bytes = 1;
	char *text;

	for (size_t i = 0; i < r->n; i++)
		bytes += strlen(r->given[i].pattern) + 1;
	r->folded = calloc(r->n + 1, sizeof(*r->folded));
	r->folded_text = text = malloc(bytes);
	if (!r->folded || !text)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		r->folded[i] = r->given[i];
		r->folded[i].pattern = text;
		path_fold_pattern(r->given[i].pattern, text);
		text += strlen(text) + 1;
	}
	r->rules = r->folded;
	return 0;
}

static int make(const struct path_rule *rules, size_t n, bool folds, struct path_rules **ret)
{
	_cleanup_path_rules_ struct path_rules *r = NULL;
	int e;

	if (n >= PATH_NO_RULE)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (rules[i].effect == 0 || rules[i].effect >= PATH_EFFECT_END ||
		    rules[i].flags & ~(uint32_t)PATH_RULE_FLAGS_ALL || !rules[i].pattern)
			return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->work = calloc(1, sizeof(*r->work));
	if (!r->work)
		return -ENOMEM;
	r->work->bound = UINT64_MAX;
	r->given = r->rules = rules;
	r->n = n;
	e = folds ? fold_rules(r) : 0;
	if (e == 0)
		e = index_rules(r);
	if (e < 0)
		return e;
	*ret = r;
	r = NULL;
	return 0;
}

int path_rules_new(const struct path_rule *rules, size_t n, struct path_rules **ret)
{
	return make(rules, n, false, ret);
}

int path_rules_new_folding(const struct path_rule *rules, size_t n, struct path_rules **ret)
{
	return make(rules, n, true, ret);
}

/* The path as the patterns have it. */
static const char *as_compared(const struct path_rules *r, const char *path, char room[LIMIT_PATH])
{
	if (!r->folded || strlen(path) >= LIMIT_PATH)
		return path;
	path_fold(path, room);
	return room;
}

struct path_rules *path_rules_free(struct path_rules *r)
{
	if (r) {
		path_index_free(r->all);
		path_index_free(r->denied);
		path_index_free(r->leading);
		free(r->text);
		free(r->folded);
		free(r->folded_text);
		free(r->wild);
		free(r->wide);
		free(r->work);
	}
	free(r);
	return NULL;
}

void path_rules_bound(struct path_rules *r, uint64_t work)
{
	*r->work = (struct path_work){ .bound = work };
}

bool path_rules_is_spent(const struct path_rules *r)
{
	return r->work->done >= r->work->bound;
}

unsigned path_rules_depth(const struct path_rules *r, size_t i, const char *path)
{
	char room[LIMIT_PATH];

	if (path_rules_is_spent(r))
		return 0;
	return path_pattern_depth_counted(r->rules[i].pattern, as_compared(r, path, room), &r->work->done);
}

size_t path_rules_count(const struct path_rules *r)
{
	return r->n;
}

const struct path_rule *path_rules_get(const struct path_rules *r, size_t i)
{
	return &r->given[i];
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
	case PATH_DENY_READ:
	case PATH_DENY_WRITE:
		if (rule->effect == PATH_DENY_WRITE && !write)
			return RANK_NOTHING;
		return rule->flags & PATH_RULE_BUILT_IN ? RANK_PROTECTION : RANK_DENY;
	case PATH_ALLOW_READ:
		return named ? RANK_NAMED_READ : RANK_READ;
	default:
		return named ? RANK_NAMED_WRITE : RANK_WRITE;
	}
}

enum { READ, WRITE };

/* What has been found about one path. */
struct search {
	const struct path_rules *rules;
	enum path_kind kind;
	struct path_found found;
};

static bool is_better(const struct path_choice *a, const struct path_choice *b)
{
	if (a->depth != b->depth)
		return a->depth > b->depth;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->rule < b->rule;
}

/* What lies below something is no file. */
static bool is_about_kind(const struct search *s, const struct path_rule *rule, bool whole)
{
	if (rule->flags & PATH_RULE_IF_TOKEN && s->kind == PATH_FILE_WITHOUT_TOKEN)
		return false;
	return !(rule->flags & PATH_RULE_FILES_ONLY) || (whole && s->kind != PATH_FOLDER);
}

static void weigh(uint32_t id, unsigned depth, bool whole, void *context)
{
	struct search *s = context;
	struct path_found *f = &s->found;
	const struct path_rule *rule = &s->rules->rules[id];
	bool protects = rule->flags & PATH_RULE_BUILT_IN && is_denial(rule);

	if (!is_about_kind(s, rule, whole))
		return;
	if (rule->effect == PATH_EXEMPT) {
		f->exempt = depth > f->exempt ? depth : f->exempt;
		return;
	}
	f->granted |= !is_denial(rule);
	for (unsigned i = READ; i <= WRITE; i++) {
		const struct path_choice found = { .depth = depth, .rank = rank_of(rule, i == WRITE), .rule = id };
		struct path_choice *best = protects ? &f->protection[i] : &f->best[i];

		if (found.rank != RANK_NOTHING && is_better(&found, best))
			*best = found;
	}
}

static uint32_t decide(const struct path_found *f, unsigned i)
{
	const struct path_choice *best = &f->best[i], *protection = &f->protection[i];

	if (f->granted && protection->depth > f->exempt && is_better(protection, best))
		best = protection;
	return best->depth > 0 ? best->rule : PATH_NO_RULE;
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

static void note(uint32_t id, unsigned depth, bool whole, void *context)
{
	*(bool *)context = true;
}

/* s: what all that is above the part says. */
static void decide_part(struct search *s, const struct path_part *part, struct path_verdict *ret)
{
	const struct path_rules *r = s->rules;

	*ret = (struct path_verdict){ .read_rule = PATH_NO_RULE, .write_rule = PATH_NO_RULE };
	if (part->depth > 0)
		path_index_find_part(r->all, part, weigh, s);
	if (path_rules_is_spent(r))
		return;
	ret->read_rule = decide(&s->found, READ);
	ret->write_rule = decide(&s->found, WRITE);
	ret->access = access_of(r, ret);
	if (part->depth == 0)
		return;
	ret->keep = path_index_has_below(r->denied, part);
	/* No pattern among these ends in a "*". */
	if (!ret->keep)
		path_index_find_part(r->leading, part, note, &ret->keep);
}

void path_rules_decide(const struct path_rules *r, const char *path, enum path_kind kind, struct path_verdict *ret)
{
	struct search s = { .rules = r, .kind = kind };
	struct path_part part;
	char room[LIMIT_PATH];

	path = as_compared(r, path, room);
	part = (struct path_part){ .path = path, .end = path };
	while (path_index_next(&part) && !part.whole)
		path_index_find_part(r->all, &part, weigh, &s);
	decide_part(&s, &part, ret);
}

void path_rules_enter(const struct path_rules *r, const char *folder, struct path_folder *ret)
{
	struct search s = { .rules = r, .kind = PATH_ANY };
	struct path_part part;
	char room[LIMIT_PATH];

	folder = as_compared(r, folder, room);
	part = (struct path_part){ .path = folder, .end = folder };
	while (path_index_next(&part)) {
		part.whole = false;
		path_index_find_part(r->all, &part, weigh, &s);
	}
	*ret = (struct path_folder){ .found = s.found,
				     .every = path_index_every(r->all, folder),
				     .len = (size_t)(part.end - folder),
				     .depth = part.depth };
}

void path_rules_decide_in(const struct path_rules *r, const struct path_folder *folder, const char *path,
			  enum path_kind kind, struct path_verdict *ret)
{
	struct search s = { .rules = r, .kind = kind, .found = folder->found };
	struct path_part part;
	char room[LIMIT_PATH];

	path = as_compared(r, path, room);
	part = (struct path_part){ .path = path, .end = path + folder->len, .depth = folder->depth };
	/* Its rules do not hold above the file, either. */
	if (kind == PATH_FILE_WITHOUT_TOKEN || !path_index_next(&part)) {
		path_rules_decide(r, path, kind, ret);
		return;
	}
	part.every = &folder->every;
	decide_part(&s, &part, ret);
}

static int compare_holdings(const void *a, const void *b)
{
	const struct path_holding *x = a, *y = b;

	if (x->set_aside != y->set_aside)
		return (int)x->set_aside - (int)y->set_aside;
	if (x->depth != y->depth)
		return x->depth > y->depth ? -1 : 1;
	if (x->strength != y->strength)
		return x->strength > y->strength ? -1 : 1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

/* The depth at which a rule holds; 0: it does not. */
static unsigned holding_depth(const struct search *s, size_t i, const char *path)
{
	const struct path_rule *rule = &s->rules->rules[i];

	if (!is_about_kind(s, rule, true))
		return 0;
	if (!is_about_kind(s, rule, false) && !path_pattern_match(rule->pattern, path))
		return 0;
	return path_rules_depth(s->rules, i, path);
}

size_t path_rules_holding(const struct path_rules *r, const char *path, enum path_kind kind, struct path_holding *ret)
{
	struct search s = { .rules = r, .kind = kind };
	char room[LIMIT_PATH];
	size_t n = 0;

	path = as_compared(r, path, room);
	path_index_find(r->all, path, weigh, &s);
	for (size_t i = 0; i < r->n && !path_rules_is_spent(r); i++) {
		const struct path_rule *rule = &r->rules[i];
		enum rank read = rank_of(rule, false), write = rank_of(rule, true);
		unsigned depth = holding_depth(&s, i, path);

		if (depth == 0)
			continue;
		ret[n] = (struct path_holding){ .rule = (uint32_t)i, .depth = depth };
		ret[n].strength = rule->effect == PATH_EXEMPT ? RANK_PROTECTION : read > write ? read : write;
		ret[n++].set_aside = rule->flags & PATH_RULE_BUILT_IN && is_denial(rule) &&
				     (!s.found.granted || depth <= s.found.exempt);
	}
	qsort(ret, n, sizeof(*ret), compare_holdings);
	return n;
}

static bool is_exempt_below(const struct path_rules *r, const char *folder)
{
	char below[LIMIT_PATH + 2];

	snprintf(below, sizeof(below), "%s/x", folder[1] ? folder : "");
	for (size_t i = 0; i < r->n_wide; i++)
		if (path_pattern_match(r->rules[r->wide[i]].pattern, below))
			return true;
	return false;
}

bool path_rules_concern_below(const struct path_rules *r, const char *folder)
{
	char room[LIMIT_PATH];
	bool exempt;

	folder = as_compared(r, folder, room);
	exempt = is_exempt_below(r, folder);
	for (size_t i = 0; i < r->n_wild; i++) {
		const struct path_rule *rule = &r->rules[r->wild[i]];

		if ((!exempt || !(rule->flags & PATH_RULE_BUILT_IN)) &&
		    path_pattern_concerns_below(rule->pattern, folder))
			return true;
	}
	return false;
}
