/* Which path a filesystem rule means. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "view/path_pattern.h"

struct expansion {
	const char *text;
	const char *path; /* NULL: refused */
};

static const struct expansion expansions[] = {
	{ "/usr/share", "/usr/share" },
	{ "/usr//share/./x/", "/usr/share/x" },
	{ "//x", "/x" },
	{ "~/x", "/home/u/x" },
	{ "~/.cache/pip", "/home/u/.cache/pip" },
	{ "~", "/home/u" },
	{ "~/", "/home/u" },
	{ "./x", "/src/p/x" },
	{ "./.x", "/src/p/.x" },
	{ ".", "/src/p" },
	{ "./", "/src/p" },
	{ "././x", "/src/p/x" },
	{ "/a b/\xff", "/a b/\xff" },
	{ "/a..b/...", "/a..b/..." },
	{ "/~/x", "/~/x" },
	{ "", NULL },
	{ "/", NULL },
	{ "//", NULL },
	{ "/.", NULL },
	{ "x", NULL },
	{ "x/y", NULL },
	{ "..", NULL },
	{ "../x", NULL },
	{ "./../x", NULL },
	{ "/x/..", NULL },
	{ "/x/../y", NULL },
	{ "~/../y", NULL },
	{ "~root/x", NULL },
	{ ".x", NULL },
	{ "$HOME/x", NULL },
	/* patterns */
	{ "/x/*", "/x/*" },
	{ "**/x", "/src/p/**/x" },
	{ "**", "/src/p" },
	{ "**/", "/src/p" },
	{ "**x", NULL },
	{ "***/x", NULL },
	{ "./**/x", "/src/p/**/x" },
	{ "./**", "/src/p" },
	{ "~/**", "/home/u" },
	{ "/a/**/**/b/**/**", "/a/**/b" },
	{ "/a/**b/**", "/a/**b" },
	{ "/a/x**/**", "/a/x**" },
	{ "/**", NULL },
	{ "/**/**/.", NULL },
	{ "/**/.env", "/**/.env" },
	{ "~/x?", "/home/u/x?" },
	{ "./[a]", "/src/p/[a]" },
	{ "./[!a-z]]/", "/src/p/[!a-z]]" },
	{ "./[]]", "/src/p/[]]" },
	{ "./[", "/src/p/\\[" },
	{ "./[]", "/src/p/\\[]" },
	{ "./[!]", "/src/p/\\[!]" },
	{ "./a[b/c]", "/src/p/a\\[b/c]" },
	{ "./\\*\\?\\[\\\\", "/src/p/\\*\\?\\[\\\\" },
	{ "./\\a\\]", "/src/p/a]" },
	{ "./[\\]", "/src/p/[\\]" },
	{ "./\\.\\./x", NULL },
	{ "./\\.", "/src/p" },
	{ "./a\\/b", NULL },
	{ "./a\\", NULL },
	{ "/x/**/../y", NULL },
	/* of other systems and habits */
	{ "C:\\x", NULL },
	{ "/home/*/.ssh/**", "/home/*/.ssh" },
	{ "~/.ssh", "/home/u/.ssh" },
};

static void table(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(expansions); i++) {
		char ret[LIMIT_PATH] = "untouched";
		struct error e = ERROR_INIT;
		int r = policy_path_expand(expansions[i].text, "/home/u/", "/src/p", ret, sizeof(ret), &e);

		if ((r == 0) != (expansions[i].path != NULL))
			fail_msg("\"%s\": %s", expansions[i].text, ret);
		assert_string_equal(ret, expansions[i].path ? expansions[i].path : "untouched");
		assert_int_equal(e.code, r == 0 ? ERROR_NONE : ERROR_POLICY);
	}
}

/* The bytes of home and project stand for themselves. */
static void odd_bases(void **state)
{
	static const char project[] = "/a*b/[c]/\\d?";
	char ret[LIMIT_PATH], path[LIMIT_PATH];

	assert_int_equal(policy_path_expand("./*.x", "/h", project, ret, sizeof(ret), NULL), 0);
	assert_string_equal(ret, "/a\\*b/\\[c]/\\\\d\\?/*.x");
	assert_int_equal(policy_path_expand("~/x", "/h/**", project, ret, sizeof(ret), NULL), 0);
	assert_string_equal(ret, "/h/\\*\\*/x");
	assert_int_equal(policy_path_expand(".", "/h", project, ret, sizeof(ret), NULL), 0);
	assert_int_equal(path_pattern_unescape(ret, path, sizeof(path)), 0);
	assert_string_equal(path, project);
}

static void without_base(void **state)
{
	char ret[LIMIT_PATH];

	assert_int_equal(policy_path_expand("~/x", NULL, "/p", ret, sizeof(ret), NULL), -EINVAL);
	assert_int_equal(policy_path_expand("~/x", "", "/p", ret, sizeof(ret), NULL), -EINVAL);
	assert_int_equal(policy_path_expand("./x", "/h", "p", ret, sizeof(ret), NULL), -EINVAL);
	assert_int_equal(policy_path_expand("~", "/", "/p", ret, sizeof(ret), NULL), -EINVAL);
	assert_int_equal(policy_path_expand("~/x", "/", "/p", ret, sizeof(ret), NULL), 0);
	assert_string_equal(ret, "/x");
	assert_int_equal(policy_path_expand("~/x", "/h/../etc", "/p", ret, sizeof(ret), NULL), -EINVAL);
}

static void sizes(void **state)
{
	char text[LIMIT_PATH + 16], ret[LIMIT_PATH];
	struct error e = ERROR_INIT;

	memset(text, 'a', sizeof(text));
	text[0] = '/';
	text[LIMIT_PATH - 1] = '\0';
	for (size_t i = 0; i < LIMIT_PATH - 1; i += 200)
		text[i] = '/';
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), 0);
	assert_int_equal(strlen(ret), LIMIT_PATH - 1);
	text[LIMIT_PATH - 1] = 'a';
	text[LIMIT_PATH] = '\0';
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), -ENAMETOOLONG);
	/* No file has a name of more than 255 bytes; a backslash is none of them. */
	memset(text, 'a', 300);
	text[0] = '/';
	text[256] = '\0';
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), 0);
	memcpy(text + 256, "a", 2);
	e = (struct error)ERROR_INIT;
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), -EINVAL);
	assert_non_null(strstr(e.message, "255"));
	memcpy(text + 1, "\\*", 2);
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), 0);
	assert_int_equal(policy_path_expand("/abc", "/h", "/p", ret, 5, NULL), 0);
	assert_int_equal(policy_path_expand("/abc", "/h", "/p", ret, 4, NULL), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(odd_bases),
		cmocka_unit_test(without_base),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
