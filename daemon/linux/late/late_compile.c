#include "daemon/linux/late/late_compile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/linux/late/late_names.h"
#include "view/path_pattern.h"

/* Components of a pattern that are looked at; a path has at most half as many as bytes. */
#define PARTS_MAX 64

#define OP(op) (1U << (op))
#define MOVING (OP(LATE_MOVE) | OP(LATE_LINK))
#define MAKING OP(LATE_CREATE)
#define CHANGING (OP(LATE_WRITE) | OP(LATE_UNLINK) | MOVING)
/* A secret may be made and removed inside: packages bring certificates along. */
#define SECRET (OP(LATE_READ) | MOVING)
/* A folder that a rule leads through must stay what it is. */
#define LEADING (OP(LATE_REPLACE) | OP(LATE_MOVE))

struct part {
	const char *text;
	size_t len;
};

/* A pattern, taken apart. */
struct pattern {
	struct part parts[PARTS_MAX];
	unsigned n;
	unsigned gap; /* index of what follows "**"; n + 1 = it has none */
	bool bad;     /* more than one "**", or more parts than fit */
	bool below;   /* "**" and "*" were at its end, and are left out: all that is below the rest */
};

/* What rules that share a bit have in common. */
struct kind {
	unsigned ops;
	bool files_only, itself, firm, exempt, exempt_below, allow_read, allow_write, named;
};

struct bit {
	struct kind kind;
	uint64_t any, direct; /* places */
	unsigned n;
	struct part above[LATE_DEPTH]; /* from index 1: the names above the last one */
};

/* Permissions first: where room runs out, it is better to name a rule that is not guarded than to refuse what is
 * permitted. Last what is left for another way in any case. */
enum turn { TURN_PERMITTED, TURN_DENIED, TURN_LOOKED_INTO, TURN_LOCKED, TURN_END };

struct state {
	const struct late_compile *c;
	unsigned char *turns; /* enum turn of each rule */
	struct late_record *record;
	struct late_names names;
	struct pattern places[LATE_ROOTS];
	struct bit bits[LATE_BITS];
	unsigned n_bits;
};

static void split(const char *pattern, bool exempt, struct pattern *ret)
{
	static const char all_below[] = "/**/*";
	const char *end = pattern + strlen(pattern);

	*ret = (struct pattern){ .gap = UINT32_MAX };
	if (exempt && end - pattern > (ptrdiff_t)sizeof(all_below) &&
	    strcmp(end - sizeof(all_below) + 1, all_below) == 0) {
		ret->below = true;
		end -= sizeof(all_below) - 1;
	}
	for (const char *at = pattern + 1; at < end;) {
		size_t len = strcspn(at, "/");

		if (len == 2 && memcmp(at, "**", 2) == 0) {
			ret->bad |= ret->gap != UINT32_MAX;
			ret->gap = ret->n;
		} else if (ret->n == PARTS_MAX) {
			ret->bad = true;
			return;
		} else {
			ret->parts[ret->n++] = (struct part){ at, len };
		}
		at += len + (at[len] == '/');
	}
}

static bool has_gap(const struct pattern *p)
{
	return p->gap <= p->n;
}

static bool is_literal(const struct part *part)
{
	for (size_t i = 0; i < part->len; i++) {
		if (strchr("*?[", part->text[i]))
			return false;
		i += part->text[i] == '\\';
	}
	return true;
}

static bool fits(const struct part *pattern, const struct part *name)
{
	return path_pattern_match_name(pattern->text, pattern->len, name->text, name->len);
}

/* parts[from..from+n) of the pattern are the names of the place from at on. */
static bool fits_run(const struct pattern *p, unsigned from, const struct pattern *place, unsigned at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!fits(&p->parts[from + i], &place->parts[at + i]))
			return false;
	return true;
}

/* ---- bits ---- */

static bool same_part(const struct part *a, const struct part *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static bool same_bit(const struct bit *a, const struct bit *b)
{
	const struct kind *k = &a->kind, *l = &b->kind;

	if (k->ops != l->ops || k->files_only != l->files_only || k->itself != l->itself || k->firm != l->firm ||
	    k->exempt != l->exempt || k->exempt_below != l->exempt_below || k->allow_read != l->allow_read ||
	    k->allow_write != l->allow_write || k->named != l->named || a->any != b->any || a->direct != b->direct ||
	    a->n != b->n)
		return false;
	for (unsigned i = 1; i < a->n; i++)
		if (!same_part(&a->above[i], &b->above[i]))
			return false;
	return true;
}

static void publish(struct state *s, unsigned number, uint32_t rule)
{
	const struct bit *bit = &s->bits[number];
	struct late_record *r = s->record;
	uint64_t one = 1ULL << number;

	for (unsigned i = 0; i < LATE_OPS; i++)
		if (bit->kind.ops & OP(i))
			r->ops[i] |= one;
	r->length[bit->n - 1] |= one;
	r->files_only |= bit->kind.files_only ? one : 0;
	r->itself |= bit->kind.itself ? one : 0;
	r->firm |= bit->kind.firm ? one : 0;
	r->exempt |= bit->kind.exempt ? one : 0;
	r->exempt_below |= bit->kind.exempt_below ? one : 0;
	r->allow_read |= bit->kind.allow_read ? one : 0;
	r->allow_write |= bit->kind.allow_write ? one : 0;
	r->named |= bit->kind.named ? one : 0;
	for (unsigned i = 0; i < s->c->n_places; i++) {
		r->roots[i].any |= bit->any & 1ULL << i ? one : 0;
		r->roots[i].direct |= bit->direct & 1ULL << i ? one : 0;
	}
	r->rule[number] = (unsigned short)rule;
	r->group[number] = (unsigned char)s->c->rules[rule].group;
}

/* The bit that this rule may share, or a new one. Names above are entered with a new one only. */
static int find_bit(struct state *s, const struct bit *wanted, uint32_t rule, unsigned *ret)
{
	for (*ret = 0; *ret < s->n_bits; ++*ret)
		if (same_bit(&s->bits[*ret], wanted))
			return 0;
	if (s->n_bits >= LATE_BITS)
		return -ENOSPC;
	for (unsigned i = 1; i < wanted->n; i++) {
		struct late_name name;
		int r = late_names_parse(wanted->above[i].text, wanted->above[i].len, &name);

		if (r == 0)
			r = late_names_add(&s->names, &name, i, *ret);
		if (r < 0)
			return r; /* the names that were entered say nothing without .length */
	}
	s->bits[s->n_bits++] = *wanted;
	publish(s, *ret, rule);
	return 0;
}

/* One form of a rule: parts, the topmost first. */
static int add(struct state *s, const struct kind *kind, const struct part *parts, unsigned n, uint64_t any,
	       uint64_t direct, uint32_t rule)
{
	struct bit wanted = { .kind = *kind, .any = any, .direct = direct, .n = n };
	struct late_name name;
	unsigned number = 0;
	int r;

	if (n == 0 || n > LATE_DEPTH)
		return -EOPNOTSUPP;
	for (unsigned i = 1; i < n; i++)
		wanted.above[i] = parts[n - 1 - i];
	r = late_names_parse(parts[n - 1].text, parts[n - 1].len, &name);
	if (r == 0)
		r = find_bit(s, &wanted, rule, &number);
	return r < 0 ? r : late_names_add(&s->names, &name, 0, number);
}

/* The folders on the way to what the rule denies: those named in full. */
static int add_leading(struct state *s, const struct part *parts, unsigned n, uint64_t any, uint64_t direct,
		       uint32_t rule)
{
	/* A file in such a place, "gitdir: elsewhere", is forged only where it is known to be a folder's place. */
	const struct kind kind = { .ops = LEADING | (direct ? OP(LATE_FORGE) : 0), .itself = true };

	for (unsigned i = 1; i < n; i++) {
		int r = is_literal(&parts[i - 1]) ? add(s, &kind, parts, i, any, direct, rule) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- rules ---- */

static bool denies(const struct path_rule *rule)
{
	return rule->effect == PATH_DENY_READ || rule->effect == PATH_DENY_WRITE;
}

static struct kind kind_of(const struct path_rule *rule, bool below)
{
	bool built_in = rule->flags & PATH_RULE_BUILT_IN;
	struct kind kind = { .files_only = rule->flags & PATH_RULE_FILES_ONLY };

	switch (rule->effect) {
	case PATH_DENY_READ:
		kind.ops = built_in ? SECRET : OP(LATE_READ) | CHANGING | MAKING;
		kind.firm = !built_in;
		if (rule->flags & PATH_RULE_IF_TOKEN)
			kind.ops = MOVING;
		break;
	case PATH_DENY_WRITE:
		kind.ops = CHANGING | MAKING;
		kind.firm = !built_in;
		break;
	case PATH_EXEMPT:
		kind.exempt = !below;
		kind.exempt_below = below;
		break;
	default:
		kind.allow_write = rule->effect != PATH_ALLOW_READ;
		kind.allow_read = !kind.allow_write;
		kind.named = path_pattern_ends_literal(rule->pattern);
	}
	return kind;
}

/* Which places a form of the rule holds in: at any depth, or right there from part i on. */
struct forms {
	uint64_t any;
	uint64_t direct[PARTS_MAX];
	bool below; /* it hangs in a folder below a place, which is none itself */
};

static void find_in_place(const struct pattern *p, const struct pattern *place, uint64_t one, struct forms *f)
{
	unsigned before = has_gap(p) ? p->gap : p->n, m = place->n;

	if (before > m) {
		if (!fits_run(p, 0, place, 0, m))
			return;
		if (has_gap(p))
			f->below = true;
		else
			f->direct[m] |= one;
		return;
	}
	if (!has_gap(p) || !fits_run(p, 0, place, 0, before))
		return;
	f->any |= one;
	/* "**" may stand for less than the way to the place: then its last names are the first ones after it. */
	for (unsigned i = 1; before + i < p->n && before + i <= m; i++)
		if (fits_run(p, before, place, m - i, i))
			f->direct[before + i] |= one;
}

/* Places that are below such a folder themselves: each name in them is exempt. */
static int add_exempt_places(struct state *s, uint32_t index)
{
	const struct part any = { "*", 1 };
	const struct kind kind = { .exempt = true };
	uint64_t places = 0;
	char path[LIMIT_PATH + 2];

	for (size_t i = 0; i < s->c->n_places; i++) {
		snprintf(path, sizeof(path), "%s/x", s->c->places[i].path[1] ? s->c->places[i].path : "");
		if (path_pattern_depth(s->c->rules[index].pattern, path) > 0)
			places |= 1ULL << i;
	}
	return places ? add(s, &kind, &any, 1, places, 0, index) : 0;
}

static int add_forms(struct state *s, const struct pattern *p, const struct forms *f, uint32_t index)
{
	const struct path_rule *rule = &s->c->rules[index];
	const struct kind kind = kind_of(rule, p->below);
	int r = p->below ? add_exempt_places(s, index) : 0;

	if (f->any && r == 0) {
		const struct part *parts = &p->parts[p->gap];
		unsigned n = p->n - p->gap;

		r = add(s, &kind, parts, n, f->any, 0, index);
		if (r == 0 && denies(rule))
			r = add_leading(s, parts, n, f->any, 0, index);
	}
	for (unsigned i = 0; i < p->n && r == 0; i++) {
		if (!f->direct[i])
			continue;
		r = add(s, &kind, &p->parts[i], p->n - i, 0, f->direct[i], index);
		if (r == 0 && denies(rule))
			r = add_leading(s, &p->parts[i], p->n - i, 0, f->direct[i], index);
	}
	return r;
}

/* A permission is of interest only where something is denied as well. */
static bool is_contested(const struct late_compile *c, const struct path_rule *rule)
{
	char path[LIMIT_PATH];

	if (path_pattern_unescape(rule->pattern, path, sizeof(path)) < 0)
		return true;
	for (size_t i = 0; i < c->n_rules; i++)
		if (denies(&c->rules[i]) && path_pattern_depth(c->rules[i].pattern, path) > 0)
			return true;
	return false;
}

static bool is_locked(const struct late_compile *c, const struct path_rule *rule)
{
	char path[LIMIT_PATH];

	return c->is_locked && path_pattern_unescape(rule->pattern, path, sizeof(path)) == 0 &&
	       c->is_locked(c->data, path);
}

static enum late_state compile_rule(struct state *s, uint32_t index)
{
	const struct path_rule *rule = &s->c->rules[index];
	struct forms f = { 0 };
	struct pattern p;
	bool somewhere = false;

	if (denies(rule) && rule->flags & PATH_RULE_EXISTING)
		return LATE_NO_NEED;
	split(rule->pattern, rule->effect == PATH_EXEMPT, &p);
	if (p.bad || p.n == 0)
		return LATE_UNGUARDED;
	for (unsigned i = 0; i < s->c->n_places; i++)
		find_in_place(&p, &s->places[i], 1ULL << i, &f);
	for (unsigned i = 0; i < p.n; i++)
		somewhere |= f.direct[i] != 0;
	if (!f.any && !somewhere)
		return f.below ? LATE_UNGUARDED : LATE_NO_NEED;
	if (!denies(rule) && rule->effect != PATH_EXEMPT && !is_contested(s->c, rule))
		return LATE_NO_NEED;
	if (rule->flags & PATH_RULE_IF_TOKEN) {
		if (s->c->keep_names)
			add_forms(s, &p, &f, index);
		return LATE_UNGUARDED;
	}
	if (add_forms(s, &p, &f, index) == 0)
		return LATE_GUARDED;
	return s->turns[index] == TURN_LOCKED ? LATE_NO_NEED : LATE_UNGUARDED;
}

/* A cover is not enough: it goes with the file when the host puts another one in its place, and that one would be read.
 * So it does with a lock, whose new file can be written to then; that is told, and may be the case for want of room. */
static enum turn turn_of(const struct late_compile *c, const struct path_rule *rule)
{
	if (!denies(rule))
		return TURN_PERMITTED;
	if (rule->flags & PATH_RULE_IF_TOKEN)
		return TURN_LOOKED_INTO;
	return rule->effect == PATH_DENY_WRITE && is_locked(c, rule) ? TURN_LOCKED : TURN_DENIED;
}

int late_compile(const struct late_compile *c, struct late_record *ret, enum late_state *states)
{
	_cleanup_free_ struct state *s = calloc(1, sizeof(*s));
	_cleanup_free_ unsigned char *turns = calloc(c->n_rules + 1, sizeof(*turns));
	int unguarded = 0, r;

	if (!s || !turns)
		return -ENOMEM;
	if (c->n_places > LATE_ROOTS)
		return -ENOSPC;
	*ret = (struct late_record){ .seed = c->seed, .n_roots = (unsigned)c->n_places };
	s->c = c;
	s->record = ret;
	s->turns = turns;
	late_names_init(&s->names, ret);
	for (size_t i = 0; i < c->n_places; i++) {
		split(c->places[i].path, false, &s->places[i]);
		ret->roots[i].inode = c->places[i].inode;
	}
	for (size_t i = 0; i < c->n_rules; i++)
		turns[i] = (unsigned char)turn_of(c, &c->rules[i]);
	for (unsigned turn = 0; turn < TURN_END; turn++)
		for (size_t i = 0; i < c->n_rules; i++) {
			if (turns[i] != turn)
				continue;
			states[i] = compile_rule(s, (uint32_t)i);
			unguarded += turn != TURN_PERMITTED && states[i] == LATE_UNGUARDED;
		}
	r = late_names_finish(&s->names);
	return r < 0 ? r : unguarded;
}

bool late_compile_anchor(const struct path_rule *rule, char *ret, size_t size)
{
	const char *gap = strstr(rule->pattern, "/**");
	char pattern[LIMIT_PATH];
	size_t n = gap ? (size_t)(gap - rule->pattern) : 0;

	if (!gap || n >= sizeof(pattern))
		return false;
	memcpy(pattern, n ? rule->pattern : "/", n ? n : 1);
	pattern[n ? n : 1] = '\0';
	return path_pattern_is_literal(pattern) && path_pattern_unescape(pattern, ret, size) == 0;
}
