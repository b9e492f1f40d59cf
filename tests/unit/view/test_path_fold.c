/* Names as file systems without case compare them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "view/path_fold.h"
#include "view/path_pattern.h"
#include "view/path_rules.h"
#include "view/protect.h"

static void paths(void **state)
{
	static const struct {
		const char *path, *folded;
	} table[] = {
		{ "/", "/" },
		{ "/a/B.Txt", "/a/b.txt" },
		{ "/.ENV", "/.env" },
		{ "/.e\xc2\xadnv/\xe2\x80\x8d.Ssh", "/.env/.ssh" },
		{ "/.\xc5\xbf\xc3\x9f", "/.sss" },
		{ "/.\xc3\x9fh/x", "/.ssh/x" },
		{ "/x.\xe2\x84\xaa"
		  "ey",
		  "/x.key" },
		{ "/credential\xc5\xbf", "/credentials" },
		{ "/lo\xef\xac\x85/\xef\xac\x83x", "/lost/ffix" },
		{ "/.env./b..", "/.env/b" },
		{ "/.../..\xc2\xad/\xc2\xad/x", "/.../..\xc2\xad/\xc2\xad/x" },
		{ "/\xc3\x84\xf0\x9f\x98\x80", "/\xc3\x84\xf0\x9f\x98\x80" },
		/* Cut signs are bytes; no slash is one of theirs. */
		{ "/\xe2\x84/\xaaX\xc2", "/\xe2\x84/\xaax\xc2" },
		{ "/\xf0\xff\xc3(", "/\xf0\xff\xc3(" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char folded[64];

		path_fold(table[i].path, folded);
		assert_string_equal(folded, table[i].folded);
		path_fold(folded, folded);
		assert_string_equal(folded, table[i].folded);
		assert_true(strlen(folded) <= strlen(table[i].path));
	}
}

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *folded;
	} table[] = {
		{ "/**/.ENV*", "/**/.env*" },
		{ "/A\\*B/\\C", "/a\\*b/\\c" },
		{ "/[A-C]x[!DE]", "/[a-c]x[!de]" },
		{ "/[A-z][+-Z]", "/[A-z][+-z]" },
		{ "/[]A]/[A", "/[]a]/[a" },
		{ "/[ab/C]D", "/[ab/c]d" },
		{ "/A-Z", "/a-z" },
		{ "/x.../\\.", "/x/\\." },
		{ "/.\xc3\x9fh", "/.ssh" },
		{ "/[A-]B", "/[a-]b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char folded[64];

		path_fold_pattern(table[i].pattern, folded);
		assert_string_equal(folded, table[i].folded);
	}
}

/* Every capital of the built-in protections is an A to Z outside of a set, and folding takes no pattern's sense away.
 */
static void built_in_rules_hold_for_capitals(void **state)
{
	static const char *const denied[] = { "/p/.ENV",        "/p/x/Id_Rsa", "/p/.SSH/k",
					      "/p/KEY.P12",     "/p/.env.",    "/p/serviceaccountX.json",
					      "/p/.\xc3\x9fh/k" };
	struct path_rule rules[512] = { { PATH_ALLOW_WRITE, 0, 0, "/P" } };
	_cleanup_path_rules_ struct path_rules *without_case = NULL, *with_case = NULL;
	struct path_verdict v;
	size_t n = 1;

	for (size_t i = 0; i < n_protect_rules && n < ARRAY_SIZE(rules); i++)
		if (protect_rules[i].pattern[0] == '/')
			rules[n++] = protect_rules[i];
	assert_int_equal(path_rules_new_folding(rules, n, &without_case), 0);
	rules[0].pattern = "/p";
	assert_int_equal(path_rules_new(rules, n, &with_case), 0);
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
		path_rules_decide(without_case, denied[i], PATH_FILE, &v);
		if (v.access != PATH_DENIED)
			fail_msg("%s: %d", denied[i], v.access);
	}
	path_rules_decide(with_case, "/p/.ENV", PATH_FILE, &v);
	assert_int_equal(v.access, PATH_WRITABLE);
	path_rules_decide(without_case, "/p/.Env.Example", PATH_FILE, &v);
	assert_int_equal(v.access, PATH_WRITABLE);
	path_rules_decide(without_case, "/P/.VsCode/x", PATH_FILE, &v);
	assert_int_equal(v.access, PATH_READABLE);
	path_rules_decide(without_case, "/p/.Claude", PATH_FOLDER, &v);
	assert_true(v.keep);
	assert_string_equal(path_rules_get(without_case, 0)->pattern, "/p");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(patterns),
		cmocka_unit_test(built_in_rules_hold_for_capitals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
