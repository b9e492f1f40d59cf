/* Patterns: what each form matches, and that nothing behind the end of pattern or path is read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/unit/guard_page.h"
#include "view/path_pattern.h"

struct match {
	const char *pattern;
	const char *path;
	bool matches;
};

static const struct match matches[] = {
	{ "/a/b", "/a/b", true },
	{ "/a/b", "/a", false },
	{ "/a/b", "/a/b/c", false },
	{ "/a", "/ab", false },
	/* "*": within a component, the empty run, a leading dot */
	{ "/*", "/a", true },
	{ "/*", "/.a", true },
	{ "/*", "/a/b", false },
	{ "/a*", "/a", true },
	{ "/a*c", "/abbc", true },
	{ "/a*c", "/abbcd", false },
	{ "/*a*b*", "/xaybz", true },
	{ "/*.pem", "/.pem", true },
	{ "/a/*/c", "/a/b/c", true },
	{ "/a/*/c", "/a/b/b/c", false },
	/* "?": one byte, not the "/" */
	{ "/?", "/a", true },
	{ "/?", "/ab", false },
	{ "/a?b", "/a/b", false },
	/* sets */
	{ "/[ab]", "/b", true },
	{ "/[a-c]x", "/bx", true },
	{ "/[!a-c]", "/b", false },
	{ "/[!a-c]", "/d", true },
	{ "/[]]", "/]", true },
	{ "/[!]]", "/]", false },
	{ "/[a-]", "/-", true },
	{ "/[a", "/[a", true },
	{ "/[", "/[", true },
	{ "/[\\]", "/\\", true },
	{ "/[!a]", "/\xff", true },
	/* backslash */
	{ "/\\*", "/*", true },
	{ "/\\*", "/a", false },
	{ "/\\\\", "/\\", true },
	{ "/\\a", "/a", true },
	{ "/a\\", "/a\\", true },
	{ "/a\\/b", "/a\\/b", true },
	/* "**": any number of components, as a whole one only */
	{ "/**/x", "/x", true },
	{ "/**/x", "/a/b/x", true },
	{ "/**/x", "/a/xx", false },
	{ "/a/**/b", "/a/b", true },
	{ "/a/**/b", "/a/c/d/b", true },
	{ "/a/**/b", "/c/a/b", false },
	{ "/**/a/**/b", "/x/a/y/a/b", true },
	{ "/**/a/*/b", "/a/b/a/c/b", true },
	{ "/**b", "/ab", true },
	{ "/**b", "/a/b", false },
	{ "/a/**", "/a", true },
	{ "/a/**", "/a/b/c", true },
	{ "/**", "/x", true },
	/* bytes are bytes */
	{ "/\xc3\xa9", "/\xc3\xa9", true },
	{ "/\xc3\xa9", "/e\xcc\x81", false },
	{ "/?", "/\xc3\xa9", false },
	{ "/A", "/a", false },
};

static void table(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(matches); i++) {
		struct guard_page pattern = guard_page_new(matches[i].pattern, strlen(matches[i].pattern) + 1);
		struct guard_page path = guard_page_new(matches[i].path, strlen(matches[i].path) + 1);

		if (path_pattern_match(pattern.data, path.data) != matches[i].matches)
			fail_msg("%s %s", matches[i].pattern, matches[i].path);
		path_pattern_depth(pattern.data, path.data);
		path_pattern_concerns_below(pattern.data, path.data);
		path_pattern_is_literal(pattern.data);
		path_pattern_parts(pattern.data);
		guard_page_done(&pattern);
		guard_page_done(&path);
	}
}

static void depth(void **state)
{
	assert_int_equal(path_pattern_depth("/a", "/a/b/c"), 1);
	assert_int_equal(path_pattern_depth("/a/b/c", "/a/b/c"), 3);
	assert_int_equal(path_pattern_depth("/a/b/c/d", "/a/b/c"), 0);
	assert_int_equal(path_pattern_depth("/**/x", "/x/a/x/b"), 3);
	assert_int_equal(path_pattern_depth("/*", "/a/b"), 1);
	assert_int_equal(path_pattern_depth("/a/**", "/a/b/c"), 3);
	assert_int_equal(path_pattern_depth("/", "/a"), 0);
	assert_int_equal(path_pattern_depth("/**/a", "/"), 0);
}

static void parts_of_a_path(void **state)
{
	assert_true(path_pattern_match_part("/a/*", "/a/b/c", 4));
	assert_false(path_pattern_match_part("/a/*", "/a/b/c", 6));
	assert_false(path_pattern_match_part("/a/*", "/a/b/c", 2));
	assert_true(path_pattern_match_name("a*", 2, "abc", 3));
	assert_true(path_pattern_match_name("a*x", 2, "abc", 3));
	assert_false(path_pattern_match_name("a", 1, "", 0));
	assert_true(path_pattern_match_name("*", 1, "", 0));
}

static void literal(void **state)
{
	static const struct {
		const char *pattern;
		const char *path; /* NULL: no literal */
		bool ends;
	} cases[] = {
		{ "/a/b", "/a/b", true },     { "/a/\\*\\?\\[\\\\", "/a/*?[\\", true },
		{ "/a\\b", "/ab", true },     { "/a\\", "/a\\", true },
		{ "/a\\/b", "/a\\/b", true }, { "/*/b", NULL, true },
		{ "/a/b?", NULL, false },     { "/a/**", NULL, false },
		{ "/a/[b", NULL, false },     { "/\\\\*", NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[32];

		assert_int_equal(path_pattern_is_literal(cases[i].pattern), cases[i].path != NULL);
		assert_int_equal(path_pattern_ends_literal(cases[i].pattern), cases[i].ends);
		assert_int_equal(path_pattern_unescape(cases[i].pattern, path, sizeof(path)),
				 cases[i].path ? 0 : -EINVAL);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
	}
}

static void escape(void **state)
{
	static const char path[] = "/a*/?[x]/\\/\xff é";
	char pattern[64], again[64];

	assert_int_equal(path_pattern_escape(path, pattern, sizeof(pattern)), 0);
	assert_string_equal(pattern, "/a\\*/\\?\\[x]/\\\\/\xff é");
	assert_int_equal(path_pattern_unescape(pattern, again, sizeof(again)), 0);
	assert_string_equal(again, path);
	assert_true(path_pattern_match(pattern, path));
	assert_int_equal(path_pattern_escape("/a*", pattern, 5), 0);
	assert_int_equal(path_pattern_escape("/a*", pattern, 4), -ENAMETOOLONG);
	assert_int_equal(path_pattern_unescape("/\\*", again, 3), 0);
	assert_int_equal(path_pattern_unescape("/\\*", again, 2), -ENAMETOOLONG);
}

static void parts(void **state)
{
	assert_int_equal(path_pattern_parts("/a/b/c"), 0);
	assert_int_equal(path_pattern_parts("/a/\\*/c"), 0);
	assert_int_equal(path_pattern_parts("/a/b*"), 1);
	assert_int_equal(path_pattern_parts("/*/b/c"), 3);
	assert_int_equal(path_pattern_parts("/a/**/b/*"), 3);
}

static void below(void **state)
{
	assert_true(path_pattern_concerns_below("/a/*/b", "/a"));
	assert_true(path_pattern_concerns_below("/a/*/b", "/a/x"));
	assert_true(path_pattern_concerns_below("/a/*/b", "/"));
	assert_false(path_pattern_concerns_below("/a/*/b", "/a/x/b"));
	assert_false(path_pattern_concerns_below("/a/*/b", "/a/x/c"));
	assert_false(path_pattern_concerns_below("/a/*/b", "/c"));
	assert_true(path_pattern_concerns_below("/**/b", "/c/d/e"));
	assert_true(path_pattern_concerns_below("/a/**/b", "/a/d/e"));
	assert_false(path_pattern_concerns_below("/a/**/b", "/b/d/e"));
	assert_false(path_pattern_concerns_below("/a*", "/ab"));
}

/* Many stars do not take time without end: each of these would with a matcher that tries all ways. */
static void many_stars(void **state)
{
	char pattern[4096] = "", path[4096] = "";

	for (size_t i = 0; i < 31; i++)
		strcat(pattern, "/**/*a*a*a*a*a*b");
	for (size_t i = 0; i < 60; i++)
		strcat(path, "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	assert_false(path_pattern_match(pattern, path));
	assert_int_equal(path_pattern_depth(pattern, path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),   cmocka_unit_test(depth),      cmocka_unit_test(parts_of_a_path),
		cmocka_unit_test(literal), cmocka_unit_test(escape),     cmocka_unit_test(parts),
		cmocka_unit_test(below),   cmocka_unit_test(many_stars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
