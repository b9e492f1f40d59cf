/* .git files, commondir, gitdir, alternates; paths as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "git/git_path.h"
#include "git/git_pointer.h"
#include "tests/unit/guard_page.h"

typedef int reader(const char *data, size_t len, char *ret, size_t ret_size);

static int read_guarded(reader *fn, const char *text, size_t len, char *ret, size_t ret_size)
{
	struct guard_page page = guard_page_new(text, len);
	int r = fn(page.data, len, ret, ret_size);

	guard_page_done(&page);
	return r;
}

static void gitfiles(void **state)
{
	static const struct {
		const char *text;
		const char *path; /* NULL: refused */
	} cases[] = {
		{ "gitdir: /a/b\n", "/a/b" },
		{ "gitdir: ../a b\r\n", "../a b" },
		{ "gitdir: x", "x" },
		{ "gitdir:  x\n\n", " x" },
		{ "", NULL },
		{ "gitdir:", NULL },
		{ "gitdir: ", NULL },
		{ "gitdir: \n", NULL },
		{ "gitdir:/a\n", NULL },
		{ "GITDIR: /a\n", NULL },
		{ " gitdir: /a\n", NULL },
		{ "gitdir: /a\n/b\n", NULL },
		{ "gitdi", NULL },
	};
	char path[PATH_MAX], small[4];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r = read_guarded(git_pointer_read_gitfile, cases[i].text, strlen(cases[i].text), path,
				     sizeof(path));

		if (r != (cases[i].path ? 0 : -EBADMSG) || (r == 0 && strcmp(path, cases[i].path) != 0))
			fail_msg("%s: %d", cases[i].text, r);
	}
	assert_int_equal(read_guarded(git_pointer_read_gitfile, "gitdir: a\0b\n", 12, path, sizeof(path)), -EBADMSG);
	assert_int_equal(read_guarded(git_pointer_read_gitfile, "gitdir: abc", 11, small, sizeof(small)), 0);
	assert_int_equal(read_guarded(git_pointer_read_gitfile, "gitdir: abcd", 12, small, sizeof(small)),
			 -ENAMETOOLONG);
	assert_int_equal(read_guarded(git_pointer_read_line, "../..\n", 6, path, sizeof(path)), 0);
	assert_string_equal(path, "../..");
}

static void alternates(void **state)
{
	static const char text[] =
		"# comment\n\n/a/objects\n\"/q\\\"\\303\\244\\n\"\n\"bad\n\"x\"y\n\"\\400\"\n\"\\000\"\n../b\nlast";
	struct guard_page page = guard_page_new(text, sizeof(text) - 1);
	const char *at = page.data, *end = at + sizeof(text) - 1;
	char path[PATH_MAX];

	assert_int_equal(git_pointer_next_alternate(&at, end, path, sizeof(path)), 1);
	assert_string_equal(path, "/a/objects");
	assert_int_equal(git_pointer_next_alternate(&at, end, path, sizeof(path)), 1);
	assert_string_equal(path, "/q\"\xc3\xa4\n");
	for (int i = 0; i < 4; i++)
		assert_int_equal(git_pointer_next_alternate(&at, end, path, sizeof(path)), -EBADMSG);
	assert_int_equal(git_pointer_next_alternate(&at, end, path, sizeof(path)), 1);
	assert_string_equal(path, "../b");
	assert_int_equal(git_pointer_next_alternate(&at, end, path, sizeof(path)), 1);
	assert_string_equal(path, "last");
	assert_int_equal(git_pointer_next_alternate(&at, end, path, sizeof(path)), 0);
	guard_page_done(&page);
}

static void joins(void **state)
{
	static const char *const cases[][3] = {
		{ "/a/b", "c", "/a/b/c" },
		{ "/a/b", "../c", "/a/c" },
		{ "/a/b", "/x//y/./z/", "/x/y/z" },
		{ "/a", "../../../..", "/" },
		{ "/", "x", "/x" },
		{ "/a", ".", "/a" },
		{ "/a/b", "../../c/../d", "/d" },
		{ "/a", "..c/.d", "/a/..c/.d" },
		{ "/", "..", "/" },
	};
	char path[PATH_MAX], small[5];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(git_path_join(cases[i][0], cases[i][1], path, sizeof(path)), 0);
		assert_string_equal(path, cases[i][2]);
	}
	assert_int_equal(git_path_join("/a", "", path, sizeof(path)), -EINVAL);
	assert_int_equal(git_path_join("/a", "b", small, sizeof(small)), 0);
	assert_int_equal(git_path_join("/a", "bc", small, sizeof(small)), -ENAMETOOLONG);
	git_path_parent("/a", path, sizeof(path));
	assert_string_equal(path, "/");
	git_path_parent("/a/b", path, sizeof(path));
	assert_string_equal(path, "/a");
	assert_true(git_path_is_within("/a/b", "/a"));
	assert_true(git_path_is_within("/a", "/"));
	assert_false(git_path_is_within("/ab", "/a"));
}

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "/home/u/jobs/**", "/home/u/jobs/r/.git", true },
		{ "/home/u/jobs/**", "/home/u/jobshop/.git", false },
		{ "**/.git", "/a/b/.git", true },
		{ "**/jobs/**", "/home/u/jobs/r/.git", true },
		{ "**/jobs/**", "/home/u/jobsite/r/.git", false },
		{ "/a/*/c", "/a/b/c", true },
		{ "/a/*/c", "/a/b/b/c", false },
		{ "/a/**/c", "/a/c", true },
		{ "/a/**/c", "/a/b/b/c", true },
		{ "/a/**/c", "/a/b/cc", false },
		{ "/a/**/b*/c", "/a/x/b1/y/b2/c", true },
		{ "/?[a-c][!x]", "/zby", true },
		{ "/?[a-c][!x]", "/zbx", false },
		{ "/[]]", "/]", true },
		{ "/[", "/[", true },
		{ "/\\*", "/*", true },
		{ "/\\*", "/x", false },
		{ "a**b", "axxb", true },
		{ "a**b", "ax/b", false },
		{ "*", "", true },
		{ "", "", true },
		{ "", "a", false },
		{ "/a?b", "/a/b", false },
		{ "/a[/]b", "/a/b", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (git_path_matches(cases[i].pattern, cases[i].text, false) != cases[i].matches)
			fail_msg("%s, %s", cases[i].pattern, cases[i].text);
	assert_true(git_path_matches("/HOME/[A-C]", "/home/b", true));
	assert_false(git_path_matches("/HOME", "/home", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gitfiles),
		cmocka_unit_test(alternates),
		cmocka_unit_test(joins),
		cmocka_unit_test(patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
