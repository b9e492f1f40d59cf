/* The record of the late guard against the evaluator: what the kernel's walk over a path would say, done here on text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/linux/late/late_compile.h"
#include "view/path_rules.h"
#include "view/protect.h"

#define PLACE "/home/u/p"
#define NOWHERE 1000

struct walk {
	const struct late_record *r;
	unsigned long long asked, allow;
	unsigned limit;
	bool folder;
	unsigned at_firm, at_built_in, at_exempt, at_allow, at_named;
};

static void find_rules(const struct late_record *r, const char *name, size_t len, unsigned long long fits[LATE_DEPTH])
{
	unsigned first = LATE_FIRST((unsigned char)name[0], len > 1 ? (unsigned char)name[1] : 0);
	unsigned last = LATE_LAST((unsigned char)name[len - 1]);
	unsigned long long words[LATE_HEAD / 8] = { 0 }, hash;

	if (len < LATE_HEAD && r->ends[first] >> last & 1) {
		memcpy(words, name, len);
		hash = late_hash(words, r->seed);
		for (int d = 0; d < LATE_DEPTH; d++) {
			if (r->plain[LATE_PLACE_1(hash)] == hash)
				fits[d] |= r->sets[r->plain_set[LATE_PLACE_1(hash)]][d];
			if (r->plain[LATE_PLACE_2(hash)] == hash)
				fits[d] |= r->sets[r->plain_set[LATE_PLACE_2(hash)]][d];
		}
	}
	for (unsigned i = 0; i < LATE_STARS; i++) {
		const struct late_star *s = &r->stars[i];

		if (!(r->first[first][i / 64] & r->last[last][i / 64] & 1ULL << i % 64))
			continue;
		if (len >= s->head_len + s->tail_len && memcmp(name, s->head, s->head_len) == 0 &&
		    memcmp(name + len - s->tail_len, s->tail, s->tail_len) == 0)
			for (int d = 0; d < LATE_DEPTH; d++)
				fits[d] |= r->sets[s->set][d];
	}
}

static void note(unsigned *at, unsigned long long rules, unsigned level)
{
	if (rules && level < *at)
		*at = level;
}

static void weigh(struct walk *w, unsigned long long rules, unsigned level, unsigned n)
{
	const struct late_record *r = w->r;
	unsigned holds_at = level - (n - 1);

	rules &= r->length[n - 1];
	rules &= r->roots[0].any | (level + 1 == w->limit ? r->roots[0].direct : 0);
	if (holds_at > 0 || w->folder)
		rules &= ~r->files_only;
	if (holds_at > 0)
		rules &= ~r->itself;
	note(&w->at_firm, rules & w->asked & r->firm, holds_at);
	note(&w->at_built_in, rules & w->asked & ~r->firm, holds_at);
	note(&w->at_exempt, rules & r->exempt, holds_at);
	if (holds_at > 0)
		note(&w->at_exempt, rules & r->exempt_below, 0);
	note(&w->at_allow, rules & w->allow, holds_at);
	note(&w->at_named, rules & w->allow & r->named, holds_at);
}

/* Is op refused on PLACE/below? */
static bool refuses(const struct late_record *r, const char *below, enum late_op op, bool folder)
{
	struct walk w = { .r = r, .folder = folder, .asked = r->ops[op], .allow = r->allow_write };
	unsigned long long so_far[LATE_DEPTH - 1] = { 0 };
	const char *end = below + strlen(below);

	w.at_firm = w.at_built_in = w.at_exempt = w.at_allow = w.at_named = NOWHERE;
	w.allow |= op == LATE_READ ? r->allow_read : 0;
	for (const char *c = below; (w.limit++, c = strchr(c, '/')) != NULL; c++)
		;
	for (unsigned level = 0; level < w.limit; level++) {
		unsigned long long fits[LATE_DEPTH] = { 0 };
		const char *name = end;

		while (name > below && name[-1] != '/')
			name--;
		find_rules(r, name, (size_t)(end - name), fits);
		weigh(&w, fits[0], level, 1);
		for (unsigned n = 2; n <= LATE_DEPTH; n++)
			weigh(&w, so_far[n - 2] & fits[n - 1], level, n);
		so_far[2] = so_far[1] & fits[2];
		so_far[1] = so_far[0] & fits[1];
		so_far[0] = fits[0];
		end = name - 1;
	}
	if (w.at_firm != NOWHERE && w.at_firm <= w.at_allow)
		return true;
	return w.at_built_in != NOWHERE && w.at_built_in < w.at_exempt && w.at_built_in < w.at_named &&
	       w.at_built_in <= w.at_allow;
}

static int compile(const struct path_rule *rules, size_t n, struct late_record *ret, enum late_state *states)
{
	static const struct late_place place = { .path = PLACE, .inode = 7 };
	struct late_compile c = { .rules = rules, .n_rules = n, .places = &place, .n_places = 1, .seed = 42 };

	return late_compile(&c, ret, states);
}

/* All built-in rules that have a form, and some of a user's. */
static size_t make_rules(struct path_rule **ret)
{
	static const struct path_rule own[] = {
		{ PATH_ALLOW_WRITE, 0, 0, PLACE },
		{ PATH_DENY_READ, 0, 0, PLACE "/closed" },
		{ PATH_ALLOW_READ, 0, 0, PLACE "/closed/open" },
		{ PATH_DENY_WRITE, 0, 0, PLACE "/**/a/b" },
		{ PATH_DENY_WRITE, 0, 0, "/**/a/lo*k" },
		{ PATH_ALLOW_WRITE, 0, 0, PLACE "/b/.env" },
		{ PATH_DENY_READ, 0, 0, "/home/*/p/b/c/*.x" },
	};
	struct path_rule *rules = calloc(n_protect_rules + ARRAY_SIZE(own), sizeof(*rules));
	enum late_state *states = calloc(n_protect_rules, sizeof(*states));
	static struct late_record record;
	size_t n = 0;

	assert_non_null(rules);
	assert_non_null(states);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		rules[n++] = own[i];
	for (size_t i = 0; i < n_protect_rules; i++) {
		if (protect_rules[i].pattern[0] != '/')
			continue;
		rules[n] = protect_rules[i];
		compile(&rules[n], 1, &record, states);
		n += states[0] == LATE_GUARDED;
	}
	free(states);
	*ret = rules;
	return n;
}

static void compare(const struct late_record *record, const struct path_rules *rules, const char *below)
{
	struct path_verdict v;
	char path[512];

	snprintf(path, sizeof(path), PLACE "/%s", below);
	for (int folder = 0; folder < 2; folder++) {
		path_rules_decide(rules, path, folder ? PATH_FOLDER : PATH_FILE, &v);
		if (refuses(record, below, LATE_READ, folder) != (v.access == PATH_DENIED))
			fail_msg("reading %s%s: the rules say %d", path, folder ? "/" : "", v.access);
		/* What cannot be read may be made inside. */
		if (v.access != PATH_DENIED &&
		    refuses(record, below, LATE_WRITE, folder) != (v.access != PATH_WRITABLE))
			fail_msg("writing %s%s: the rules say %d", path, folder ? "/" : "", v.access);
	}
}

static const char *const names[] = {
	"a",
	"b",
	"c",
	"lock",
	"look",
	"lok",
	".env",
	".envrc",
	".env.x",
	".git",
	"hooks",
	"config",
	"x.pem",
	"cert.pem",
	".vscode",
	"open",
	"closed",
	"settings.json",
	".claude",
	"id_rsa",
	"id_rsa.pub",
	"x.x",
	"certifi",
	".ssh",
	"credentials",
	"info",
	"x.sample",
	".env.example",
	".github",
	".mcp.json",
	"node_modules",
	"site-packages",
};

static void test_random_paths(void **state)
{
	static struct late_record record;
	_cleanup_path_rules_ struct path_rules *rules = NULL;
	_cleanup_free_ struct path_rule *list = NULL;
	size_t n = make_rules(&list);
	_cleanup_free_ enum late_state *states = calloc(n, sizeof(*states));
	unsigned seed = 1;

	assert_true(n > 100);
	compile(list, n, &record, states);
	for (size_t i = 0; i < n; i++)
		if (states[i] == LATE_UNGUARDED)
			fail_msg("there is no room for %s", list[i].pattern);
	assert_int_equal(path_rules_new(list, n, &rules), 0);
	for (unsigned i = 0; i < 200000; i++) {
		char below[256] = "";
		unsigned depth;

		seed = seed * 1103515245 + 12345;
		depth = 1 + (seed >> 16) % 6;
		for (unsigned j = 0; j < depth; j++) {
			seed = seed * 1103515245 + 12345;
			strcat(below, j ? "/" : "");
			strcat(below, names[(seed >> 16) % ARRAY_SIZE(names)]);
		}
		compare(&record, rules, below);
	}
}

/* Folders on the way to what is protected stay where they are; what is there already needs no room. */
static void test_leading_folders(void **state)
{
	static const struct path_rule list[] = {
		{ PATH_DENY_WRITE, PATH_RULE_BUILT_IN, 0, "/**/.git/hooks" },
		{ PATH_DENY_WRITE, 0, 0, PLACE "/etc/conf/main" },
	};
	static struct late_record record;
	enum late_state states[ARRAY_SIZE(list)];

	assert_int_equal(compile(list, ARRAY_SIZE(list), &record, states), 0);
	assert_true(refuses(&record, ".git", LATE_REPLACE, true));
	assert_true(refuses(&record, "x/.git", LATE_MOVE, true));
	assert_false(refuses(&record, "x/.git", LATE_CREATE, true));
	assert_false(refuses(&record, "x/.git", LATE_FORGE, false));
	assert_true(refuses(&record, "etc", LATE_MOVE, true));
	assert_true(refuses(&record, "etc/conf", LATE_FORGE, false));
	assert_false(refuses(&record, "x/etc", LATE_MOVE, true));
	assert_true(refuses(&record, "etc/conf/main/deep/er", LATE_CREATE, false));
	/* What else is in them may be moved: git renames its index. */
	assert_false(refuses(&record, ".git/index.lock", LATE_MOVE, false));
	assert_false(refuses(&record, ".git/index", LATE_REPLACE, false));
	assert_false(refuses(&record, "etc/conf/other", LATE_FORGE, false));
}

/* What is looked into keeps its name, where that is asked for; all else may be done to it, and the rest has its room.
 */
static void test_names_that_are_kept(void **state)
{
	static const struct late_place place = { .path = PLACE, .inode = 7 };
	struct late_compile c = { .rules = protect_rules, .n_rules = n_protect_rules, .places = &place, .n_places = 1 };
	_cleanup_free_ enum late_state *with = calloc(n_protect_rules, sizeof(*with));
	_cleanup_free_ enum late_state *without = calloc(n_protect_rules, sizeof(*without));
	static struct late_record record;

	assert_true(late_compile(&c, &record, without) > 0);
	assert_false(refuses(&record, "a/x.pem", LATE_MOVE, false));
	c.keep_names = true;
	assert_true(late_compile(&c, &record, with) > 0);
	assert_memory_equal(with, without, n_protect_rules * sizeof(*with));
	for (unsigned op = 0; op < LATE_OPS; op++)
		assert_int_equal(refuses(&record, "a/x.pem", op, false), op == LATE_MOVE || op == LATE_LINK);
	assert_true(refuses(&record, ".npmrc", LATE_MOVE, false));
	assert_true(refuses(&record, "a/b/terraform.tfvars", LATE_LINK, false));
	assert_false(refuses(&record, "a/cacert.pem", LATE_MOVE, false));
	assert_false(refuses(&record, "node_modules/a/x.pem", LATE_MOVE, false));
	assert_false(refuses(&record, "a/x.pem", LATE_MOVE, true));
	assert_true(refuses(&record, ".env", LATE_READ, false));
}

static bool is_not_gone(void *data, const char *path)
{
	return !strstr(path, "/gone");
}

static void test_states(void **state)
{
	static const struct {
		struct path_rule rule;
		enum late_state state;
	} table[] = {
		/* the host may put another in the place of what is covered, and the cover is gone */
		{ { PATH_DENY_READ, 0, 0, PLACE "/there" }, LATE_GUARDED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/1/2/3/4/5" }, LATE_UNGUARDED },
		{ { PATH_DENY_WRITE, 0, 0, PLACE "/there" }, LATE_GUARDED },
		{ { PATH_DENY_WRITE, 0, 0, PLACE "/1/2/3/4/5" }, LATE_NO_NEED },
		{ { PATH_DENY_WRITE, 0, 0, PLACE "/gone/2/3/4/5" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, 0, 0, "/elsewhere/x" }, LATE_NO_NEED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/*.x" }, LATE_GUARDED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/a?" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/[ab]" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/a*b*c" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/*/2/3/4/5" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, 0, 0, "/**/a/**/b" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, 0, 0, PLACE "/sub/**/b" }, LATE_UNGUARDED }, /* sub is no place */
		{ { PATH_DENY_READ, 0, 0, PLACE "/\\*\\?" }, LATE_GUARDED },
		{ { PATH_DENY_READ, PATH_RULE_FILES_ONLY | PATH_RULE_IF_TOKEN, 0, "/**/.npmrc" }, LATE_UNGUARDED },
		{ { PATH_EXEMPT, PATH_RULE_BUILT_IN, 0, "/**/y" }, LATE_GUARDED },
		{ { PATH_EXEMPT, PATH_RULE_BUILT_IN, 0, "/**/y/**/*" }, LATE_GUARDED },
		{ { PATH_DENY_READ, PATH_RULE_BUILT_IN, 0, "/**/y/**/*" }, LATE_UNGUARDED },
		{ { PATH_DENY_READ, PATH_RULE_BUILT_IN, 0, PLACE "/**/*" }, LATE_GUARDED },
		{ { PATH_DENY_WRITE, PATH_RULE_BUILT_IN | PATH_RULE_EXISTING, 0, "/**/.git/config" }, LATE_NO_NEED },
		{ { PATH_DENY_WRITE, PATH_RULE_BUILT_IN | PATH_RULE_EXISTING, 0, "/**/y/**/z" }, LATE_NO_NEED },
		{ { PATH_ALLOW_READ, 0, 0, PLACE "/uncontested" }, LATE_NO_NEED },
	};
	static const struct late_place place = { .path = PLACE, .inode = 7 };
	static struct late_record record;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		enum late_state got;
		struct late_compile c = {
			.rules = &table[i].rule, .n_rules = 1, .places = &place, .n_places = 1, .is_locked = is_not_gone
		};
		int r = late_compile(&c, &record, &got);

		if (got != table[i].state || r != (got == LATE_UNGUARDED))
			fail_msg("%s: %d, %d", table[i].rule.pattern, got, r);
	}
}

/* A new repository is made as git makes it, whatever is called so; the project's own one keeps what isoctl names. */
static void test_new_repositories(void **state)
{
	static const char *const made[] = { "sub/.git/config",
					    "sub/.git/hooks",
					    "sub/.git/hooks/x.sample",
					    "sub/.git/info/attributes",
					    "sub/.gitmodules",
					    ".gitmodules",
					    ".git/modules/m/config",
					    ".git/worktrees/w/gitdir",
					    ".git/worktrees/w/commondir",
					    "w/.git" };
	static const char *const kept[] = { ".git/hooks/pre-commit", ".git/config", ".git/config.worktree",
					    ".git/commondir", ".git/objects/info/alternates" };
	static const struct path_rule own[] = {
		{ PATH_DENY_WRITE, 0, 0, PLACE "/.git/hooks" },
		{ PATH_DENY_WRITE, 0, 0, PLACE "/.git/config" },
		{ PATH_DENY_WRITE, 0, 0, PLACE "/.git/config.worktree" },
		{ PATH_DENY_WRITE, 0, 0, PLACE "/.git/commondir" },
		{ PATH_DENY_WRITE, 0, 0, PLACE "/.git/objects/info/alternates" },
	};
	_cleanup_free_ struct path_rule *list = calloc(n_protect_rules + ARRAY_SIZE(own), sizeof(*list));
	_cleanup_free_ enum late_state *states = calloc(n_protect_rules + ARRAY_SIZE(own), sizeof(*states));
	static struct late_record record;
	size_t n = 0;

	for (size_t i = 0; i < n_protect_rules; i++)
		if (protect_rules[i].pattern[0] == '/')
			list[n++] = protect_rules[i];
	memcpy(&list[n], own, sizeof(own));
	n += ARRAY_SIZE(own);
	assert_true(compile(list, n, &record, states) >= 0);
	/* All that protects has a form, but what looks into a file. */
	for (size_t i = 0; i < n; i++)
		if (states[i] == LATE_UNGUARDED && list[i].effect != PATH_EXEMPT &&
		    !(list[i].flags & PATH_RULE_IF_TOKEN))
			fail_msg("%s has no form", list[i].pattern);
	for (enum late_op op = LATE_READ; op < LATE_OPS; op++)
		for (size_t i = 0; i < ARRAY_SIZE(made); i++)
			if (refuses(&record, made[i], op, false))
				fail_msg("%s: operation %d", made[i], op);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		assert_true(refuses(&record, kept[i], LATE_CREATE, false));
		assert_true(refuses(&record, kept[i], LATE_WRITE, false));
	}
	assert_true(refuses(&record, ".git", LATE_MOVE, true));
	assert_true(refuses(&record, ".git", LATE_FORGE, false));
}

/* A project that is itself something published. */
static void test_place_in_packages(void **state)
{
	static const struct path_rule list[] = {
		{ PATH_EXEMPT, PATH_RULE_BUILT_IN, 0, "/**/p/**/*" },
		{ PATH_DENY_READ, PATH_RULE_BUILT_IN, 0, "/**/*.pem" },
		{ PATH_DENY_READ, 0, 0, "/**/own.pem" },
	};
	static struct late_record record;
	enum late_state states[ARRAY_SIZE(list)];

	assert_int_equal(compile(list, ARRAY_SIZE(list), &record, states), 0);
	assert_false(refuses(&record, "x.pem", LATE_READ, false));
	assert_false(refuses(&record, "a/x.pem", LATE_READ, false));
	assert_true(refuses(&record, "a/own.pem", LATE_READ, false));
	assert_int_equal(compile(&list[1], 1, &record, states), 0);
	assert_true(refuses(&record, "x.pem", LATE_READ, false));
}

/* More than fits is told, not dropped; what is denied by the record stays denied. */
static void test_too_much(void **state)
{
	enum { N = 600 };
	static char patterns[N][32];
	static struct path_rule list[N];
	static enum late_state states[N];
	static struct late_record record;
	int unguarded;

	for (unsigned i = 0; i < N; i++) {
		snprintf(patterns[i], sizeof(patterns[i]), "/**/name-%u", i);
		list[i] = (struct path_rule){ PATH_DENY_READ, 0, 0, patterns[i] };
	}
	unguarded = compile(list, N, &record, states);
	assert_int_equal(unguarded, N - LATE_PLAIN / 2);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(refuses(&record, patterns[i] + 4, LATE_READ, false), states[i] == LATE_GUARDED);
}

/* What a mount keeps anyhow takes no room from the others, and is not told where there is none. */
static void test_locked_ones_come_last(void **state)
{
	enum { N = LATE_PLAIN / 2 };
	static char patterns[2 * N][sizeof(PLACE) + 16];
	static struct path_rule list[2 * N];
	static enum late_state states[2 * N];
	static const struct late_place place = { .path = PLACE, .inode = 7 };
	static struct late_record record;
	struct late_compile c = {
		.rules = list, .n_rules = 2 * N, .places = &place, .n_places = 1, .is_locked = is_not_gone, .seed = 42
	};

	for (unsigned i = 0; i < 2 * N; i++) {
		snprintf(patterns[i], sizeof(patterns[i]), i < N ? PLACE "/locked-%u" : PLACE "/gone-%u", i);
		list[i] = (struct path_rule){ PATH_DENY_WRITE, 0, 0, patterns[i] };
	}
	assert_int_equal(late_compile(&c, &record, states), 0);
	for (unsigned i = 0; i < 2 * N; i++)
		assert_int_equal(states[i], i < N ? LATE_NO_NEED : LATE_GUARDED);
}

static void test_anchor(void **state)
{
	const struct path_rule rule = { PATH_DENY_READ, 0, 0, "/a/b\\*/**/c" };
	const struct path_rule top = { PATH_DENY_READ, 0, 0, "/**/c" };
	const struct path_rule none = { PATH_DENY_READ, 0, 0, "/a/*/c" };
	char anchor[64];

	assert_true(late_compile_anchor(&rule, anchor, sizeof(anchor)));
	assert_string_equal(anchor, "/a/b*");
	assert_true(late_compile_anchor(&top, anchor, sizeof(anchor)));
	assert_string_equal(anchor, "/");
	assert_false(late_compile_anchor(&none, anchor, sizeof(anchor)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_paths),
		cmocka_unit_test(test_leading_folders),
		cmocka_unit_test(test_names_that_are_kept),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_locked_ones_come_last),
		cmocka_unit_test(test_anchor),
		cmocka_unit_test(test_new_repositories),
		cmocka_unit_test(test_place_in_packages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
