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
	{ "/x/*", NULL },
	{ "**/x", NULL },
	{ "~/x?", NULL },
	{ "./[a]", NULL },
	{ "$HOME/x", NULL },
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
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), 0);
	assert_int_equal(strlen(ret), LIMIT_PATH - 1);
	text[LIMIT_PATH - 1] = 'a';
	text[LIMIT_PATH] = '\0';
	assert_int_equal(policy_path_expand(text, "/h", "/p", ret, sizeof(ret), &e), -ENAMETOOLONG);
	assert_int_equal(policy_path_expand("/abc", "/h", "/p", ret, 5, NULL), 0);
	assert_int_equal(policy_path_expand("/abc", "/h", "/p", ret, 4, NULL), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(without_base),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
