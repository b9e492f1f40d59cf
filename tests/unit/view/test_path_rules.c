/* Each sentence of view/path_rules.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "view/path_rules.h"

#define BUILT_IN PATH_RULE_BUILT_IN
#define FILES PATH_RULE_FILES_ONLY

static struct path_rules *make(const struct path_rule *rules, size_t n)
{
	struct path_rules *r = NULL;

	assert_int_equal(path_rules_new(rules, n, &r), 0);
	return r;
}

static void check(const struct path_rules *r, const char *path, enum path_kind kind, enum path_access access)
{
	struct path_verdict v;

	path_rules_decide(r, path, kind, &v);
	if (v.access != access)
		fail_msg("%s: %d, not %d", path, v.access, access);
}

#define MAKE(rules) make(rules, ARRAY_SIZE(rules))

static void no_rules(void **state)
{
	_cleanup_path_rules_ struct path_rules *r = make(NULL, 0);
	struct path_verdict v;

	path_rules_decide(r, "/a", PATH_ANY, &v);
	assert_int_equal(v.access, PATH_ABSENT);
	assert_int_equal(v.read_rule, PATH_NO_RULE);
	assert_int_equal(v.write_rule, PATH_NO_RULE);
	assert_false(v.keep);
	check(r, "/", PATH_ANY, PATH_ABSENT);
	assert_false(path_rules_concern_below(r, "/"));
}

static void most_specific_wins(void **state)
{
	static const struct path_rule rules[] = {
		{ PATH_ALLOW_WRITE, 0, 0, "/p" },     { PATH_DENY_READ, 0, 0, "/p/a" },
		{ PATH_ALLOW_READ, 0, 0, "/p/a/b" },  { PATH_DENY_WRITE, 0, 0, "/p/c" },
		{ PATH_ALLOW_WRITE, 0, 0, "/p/c/d" }, { PATH_OVERLAY, 0, 0, "/p/e" },
	};
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);

	check(r, "/", PATH_ANY, PATH_ABSENT);
	check(r, "/pp", PATH_ANY, PATH_ABSENT);
	check(r, "/p", PATH_ANY, PATH_WRITABLE);
	check(r, "/p/x/y", PATH_ANY, PATH_WRITABLE);
	check(r, "/p/a", PATH_ANY, PATH_DENIED);
	check(r, "/p/a/x", PATH_ANY, PATH_DENIED);
	check(r, "/p/a/b/x", PATH_ANY, PATH_READABLE);
	check(r, "/p/c/x", PATH_ANY, PATH_READABLE);
	check(r, "/p/c/d", PATH_ANY, PATH_WRITABLE);
	check(r, "/p/e/x", PATH_ANY, PATH_OVERLAID);
}

static void equal_depth(void **state)
{
	static const struct path_rule rules[] = {
		{ PATH_ALLOW_READ, 0, 0, "/a" }, { PATH_ALLOW_WRITE, 0, 0, "/a" }, { PATH_ALLOW_WRITE, 0, 0, "/b" },
		{ PATH_DENY_WRITE, 0, 0, "/*" }, { PATH_ALLOW_WRITE, 0, 0, "/c" }, { PATH_DENY_READ, 0, 0, "/c" },
	};
	_cleanup_path_rules_ struct path_rules *all = MAKE(rules), *two = make(rules, 2);
	struct path_verdict v;

	/* Write beats read among allows, deny beats allow. */
	check(two, "/a", PATH_ANY, PATH_WRITABLE);
	check(all, "/a", PATH_ANY, PATH_READABLE);
	check(all, "/b/x", PATH_ANY, PATH_READABLE);
	check(all, "/c", PATH_ANY, PATH_DENIED);
	path_rules_decide(all, "/b", PATH_ANY, &v);
	assert_int_equal(v.read_rule, 2);
	assert_int_equal(v.write_rule, 3);
	assert_ptr_equal(path_rules_get(all, 3), &rules[3]);
	assert_int_equal(path_rules_count(all), 6);
}

/* Of rules that say the same the first one is named. */
static void first_of_equals(void **state)
{
	static const struct path_rule rules[] = { { PATH_ALLOW_READ, 0, 0, "/z" },
						  { PATH_ALLOW_READ, 0, 0, "/a" },
						  { PATH_ALLOW_READ, 0, 0, "/a" },
						  { PATH_ALLOW_READ, 0, 0, "/\\a" } };
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);
	struct path_verdict v;

	path_rules_decide(r, "/a", PATH_ANY, &v);
	assert_int_equal(v.read_rule, 1);
}

static void protections(void **state)
{
	static const struct path_rule rules[] = {
		{ PATH_ALLOW_WRITE, 0, 0, "/p" },
		{ PATH_DENY_READ, BUILT_IN | FILES, 1, "/**/.env" },
		{ PATH_DENY_READ, BUILT_IN | FILES, 1, "/**/.env.*" },
		{ PATH_EXEMPT, BUILT_IN, 1, "/**/*.example" },
		{ PATH_DENY_WRITE, BUILT_IN, 2, "/**/.git/hooks" },
		{ PATH_ALLOW_READ, 0, 0, "/p/named/.env" },
		{ PATH_ALLOW_READ, 0, 0, "/p/glob/.env*" },
		{ PATH_DENY_READ, 0, 0, "/p/x.example" },
		{ PATH_ALLOW_READ, BUILT_IN, 0, "/p/tool/.env" },
	};
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);

	check(r, "/p/.env", PATH_FILE, PATH_DENIED);
	check(r, "/p/.env", PATH_ANY, PATH_DENIED);
	/* Not for folders, and what is in one is no such file. */
	check(r, "/p/.env", PATH_FOLDER, PATH_WRITABLE);
	check(r, "/p/.env/x", PATH_FILE, PATH_WRITABLE);
	check(r, "/p/.env.example", PATH_FILE, PATH_WRITABLE);
	/* An exemption counts for protections that are no deeper; the user's denial stands. */
	check(r, "/p/d.example/.env", PATH_FILE, PATH_DENIED);
	check(r, "/p/x.example", PATH_FILE, PATH_DENIED);
	check(r, "/p/.git/hooks/x", PATH_FILE, PATH_READABLE);
	/* Who names the very file gets it; a pattern does not name it, and a table's grant is nobody's word. */
	check(r, "/p/named/.env", PATH_FILE, PATH_READABLE);
	check(r, "/p/glob/.env", PATH_FILE, PATH_DENIED);
	check(r, "/p/tool/.env", PATH_FILE, PATH_DENIED);
	/* Where nothing is granted, protections say nothing. */
	check(r, "/q/.env", PATH_FILE, PATH_ABSENT);
}

static void denial_without_grant(void **state)
{
	static const struct path_rule rules[] = { { PATH_DENY_READ, 0, 0, "/etc/x" },
						  { PATH_DENY_WRITE, 0, 0, "/etc/y" } };
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);

	check(r, "/etc/x", PATH_ANY, PATH_DENIED);
	check(r, "/etc/y", PATH_ANY, PATH_ABSENT);
}

static void tokens(void **state)
{
	static const struct path_rule rules[] = {
		{ PATH_ALLOW_WRITE, 0, 0, "/p" },
		{ PATH_DENY_READ, BUILT_IN | FILES | PATH_RULE_IF_TOKEN, 1, "/**/.npmrc" },
	};
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);

	check(r, "/p/.npmrc", PATH_FILE, PATH_DENIED);
	check(r, "/p/.npmrc", PATH_FILE_WITHOUT_TOKEN, PATH_WRITABLE);
}

static void keeps(void **state)
{
	static const struct path_rule rules[] = {
		{ PATH_DENY_WRITE, BUILT_IN, 1, "/**/.git/hooks" },
		{ PATH_DENY_READ, 0, 0, "/p/a/b/c" },
		{ PATH_DENY_READ, 0, 0, "/q/*/x/y" },
		{ PATH_ALLOW_READ, 0, 0, "/r/s" },
		{ PATH_DENY_READ, 0, 0, "/t/**/u" },
	};
	static const struct {
		const char *path;
		bool keep;
	} cases[] = {
		{ "/p/.git", true },    { "/.git", true },     { "/p/.git/hooks", false },
		{ "/p/.git/x", false }, { "/p", true },        { "/p/a", true },
		{ "/p/a/b", true },     { "/p/a/b/c", false }, { "/p/ab", false },
		{ "/q", true },         { "/q/z", false },     { "/q/z/x", true },
		{ "/q/z/y", false },    { "/r", false },       { "/t", false },
		{ "/", false },
	};
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct path_verdict v;

		path_rules_decide(r, cases[i].path, PATH_FOLDER, &v);
		if (v.keep != cases[i].keep)
			fail_msg("%s: %d", cases[i].path, v.keep);
	}
}

static void below(void **state)
{
	static const struct path_rule rules[] = { { PATH_DENY_READ, 0, 0, "/p/a/b" },
						  { PATH_DENY_READ, 0, 0, "/p/*/x" },
						  { PATH_DENY_READ, 0, 0, "/q/**/x" } };
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);

	assert_true(path_rules_concern_below(r, "/"));
	assert_true(path_rules_concern_below(r, "/p"));
	assert_true(path_rules_concern_below(r, "/p/a"));
	assert_false(path_rules_concern_below(r, "/p/a/x"));
	assert_false(path_rules_concern_below(r, "/p/a/b"));
	assert_true(path_rules_concern_below(r, "/q/r/s"));
	assert_false(path_rules_concern_below(r, "/r"));
}

static void refused(void **state)
{
	char long_pattern[5000], deep[200] = "";
	static const char *const bad[] = {
		"", "a", "a/b", "/a/", "//", "/a//b", "/./a", "/..", "/a/..", "/a/.", "~/a"
	};
	struct path_rule rule = { .effect = PATH_ALLOW_READ, .pattern = "/a" };
	struct path_rules *r = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		rule.pattern = bad[i];
		if (path_rules_new(&rule, 1, &r) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
	}
	memset(long_pattern, 'a', sizeof(long_pattern));
	long_pattern[0] = '/';
	long_pattern[sizeof(long_pattern) - 1] = '\0';
	rule.pattern = long_pattern;
	assert_int_equal(path_rules_new(&rule, 1, &r), -EINVAL);
	for (size_t i = 0; i < 33; i++)
		strcat(deep, "/a*");
	rule.pattern = deep;
	assert_int_equal(path_rules_new(&rule, 1, &r), -EINVAL);
	rule.pattern = deep + 3;
	assert_int_equal(path_rules_new(&rule, 1, &r), 0);
	r = path_rules_free(r);
	rule = (struct path_rule){ .effect = 0, .pattern = "/a" };
	assert_int_equal(path_rules_new(&rule, 1, &r), -EINVAL);
	rule.effect = PATH_EFFECT_END;
	assert_int_equal(path_rules_new(&rule, 1, &r), -EINVAL);
	rule = (struct path_rule){ .effect = PATH_EXEMPT, .flags = PATH_RULE_FLAGS_ALL + 1, .pattern = "/a" };
	assert_int_equal(path_rules_new(&rule, 1, &r), -EINVAL);
	rule = (struct path_rule){ .effect = PATH_EXEMPT };
	assert_int_equal(path_rules_new(&rule, 1, &r), -EINVAL);
}

static void holding(void **state)
{
	static const struct path_rule rules[] = {
		{ PATH_ALLOW_WRITE, 0, 0, "/p" },
		{ PATH_DENY_READ, BUILT_IN | FILES, 1, "/**/.env*" },
		{ PATH_EXEMPT, BUILT_IN, 1, "/**/*.example" },
		{ PATH_ALLOW_READ, 0, 0, "/p/a" },
		{ PATH_ALLOW_READ, 0, 0, "/q" },
		{ PATH_ALLOW_READ, 0, 0, "/p/a" },
	};
	_cleanup_path_rules_ struct path_rules *r = MAKE(rules);
	struct path_holding h[ARRAY_SIZE(rules)];

	assert_int_equal(path_rules_holding(r, "/p/a/.env", PATH_FILE, h), 4);
	assert_int_equal(h[0].rule, 1);
	assert_int_equal(h[0].depth, 3);
	assert_int_equal(h[1].rule, 3);
	assert_int_equal(h[2].rule, 5);
	assert_int_equal(h[3].rule, 0);
	assert_false(h[0].set_aside);
	assert_int_equal(path_rules_holding(r, "/p/.env.example", PATH_FILE, h), 3);
	assert_int_equal(h[0].rule, 2);
	assert_int_equal(h[2].rule, 1);
	assert_true(h[2].set_aside);
	assert_int_equal(path_rules_holding(r, "/p/.env", PATH_FOLDER, h), 1);
	assert_int_equal(path_rules_holding(r, "/x", PATH_FILE, h), 0);
}

/* As many rules as a plan takes, all plain; and the same path ten thousand times. */
static void many(void **state)
{
	enum { N = 30000 };
	struct path_rule *rules = calloc(N, sizeof(*rules));
	char(*text)[32] = calloc(N, sizeof(*text));
	_cleanup_path_rules_ struct path_rules *r = NULL;

	assert_true(rules && text);
	for (size_t i = 0; i < N; i++) {
		snprintf(text[i], sizeof(text[i]), "/p/%zu/%zu", i % 100, i < 20000 ? i : 0);
		rules[i] =
			(struct path_rule){ .effect = i % 2 ? PATH_ALLOW_READ : PATH_ALLOW_WRITE, .pattern = text[i] };
	}
	assert_int_equal(path_rules_new(rules, N, &r), 0);
	check(r, "/p/7/107", PATH_ANY, PATH_READABLE);
	check(r, "/p/8/108/x", PATH_ANY, PATH_WRITABLE);
	check(r, "/p/8/107", PATH_ANY, PATH_ABSENT);
	check(r, "/p/0/0", PATH_ANY, PATH_WRITABLE);
	r = path_rules_free(r);
	free(rules);
	free(text);
}

/* Patterns that try each folder of a deep path for each of its leading parts. */
static void bounded(void **state)
{
	enum { N = 10000, DEPTH = 2000, WORK = 1000000 };
	struct path_rule *rules = calloc(N, sizeof(*rules));
	struct path_holding *holding = calloc(N, sizeof(*holding));
	struct path_rules *r = NULL;
	char path[2 * DEPTH + 1];

	assert_true(rules && holding);
	for (size_t i = 0; i < N; i++)
		rules[i] = (struct path_rule){ .effect = PATH_DENY_READ, .pattern = "/**/a/**/*" };
	rules[0] = (struct path_rule){ .effect = PATH_ALLOW_WRITE, .pattern = "/x" };
	for (size_t i = 0; i < DEPTH; i++)
		memcpy(path + 2 * i, "/x", 3);
	assert_int_equal(path_rules_new(rules, N, &r), 0);
	path_rules_bound(r, WORK);
	assert_false(path_rules_is_spent(r));
	check(r, "/x/y", PATH_ANY, PATH_WRITABLE);
	assert_false(path_rules_is_spent(r));
	check(r, path, PATH_ANY, PATH_ABSENT);
	assert_true(path_rules_is_spent(r));
	check(r, "/x/y", PATH_ANY, PATH_ABSENT);
	assert_int_equal(path_rules_depth(r, 0, "/x/y"), 0);
	assert_int_equal(path_rules_holding(r, path, PATH_ANY, holding), 0);
	path_rules_bound(r, WORK);
	assert_int_equal(path_rules_holding(r, path, PATH_ANY, holding), 0);
	path_rules_bound(r, WORK);
	assert_int_equal(path_rules_depth(r, 0, "/x/y"), 1);
	check(r, "/x/y", PATH_ANY, PATH_WRITABLE);
	r = path_rules_free(r);
	free(holding);
	free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rules),    cmocka_unit_test(most_specific_wins),
		cmocka_unit_test(equal_depth), cmocka_unit_test(first_of_equals),
		cmocka_unit_test(protections), cmocka_unit_test(denial_without_grant),
		cmocka_unit_test(tokens),      cmocka_unit_test(keeps),
		cmocka_unit_test(below),       cmocka_unit_test(refused),
		cmocka_unit_test(holding),     cmocka_unit_test(many),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
