#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/run/run_environment.h"

static const char *value(const struct run_environment *r, const char *name)
{
	for (size_t i = 0; i < r->n_variables; i++)
		if (strcmp(r->variables[i].name, name) == 0)
			return r->variables[i].value;
	return NULL;
}

static const char *const variables[] = {
	"HOME=/h",
	"LC_ALL=C",
	"GH_TOKEN=t",
	"AWS_SECRET=s",
	"LD_PRELOAD=x",
	"EMPTY=",
	"PATH=/bin",
	"PATH=/second",
	"BASH_FUNC_f%%=() { :; }",
	"EDITOR=vi; evil",
	"noequals",
	"=strange",
	NULL,
};
static char *const *const environment = (char *const *)variables;

static void test_only_what_passes(void **state)
{
	struct run_environment r = RUN_ENVIRONMENT_INIT;
	struct option_list none = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(run_environment_select(environment, &none, NULL, &r, &e), 0);
	assert_string_equal(value(&r, "HOME"), "/h");
	assert_string_equal(value(&r, "LC_ALL"), "C");
	assert_string_equal(value(&r, "PATH"), "/bin"); /* as getenv() sees it */
	assert_int_equal(r.n_variables, 3);
	assert_int_equal(r.n_named, 0);
	assert_string_equal(r.notes.data, "EDITOR was left out: its value is a shell command.");
	run_environment_done(&r);
}

static void test_named(void **state)
{
	struct run_environment r = RUN_ENVIRONMENT_INIT;
	const char *items[] = { "GH_TOKEN", "LD_PRELOAD=y", "NEW=a=b",     "EMPTY",
				"GH_TOKEN", "UNSET",        "HOME=/other", "EDITOR" };
	struct option_list named = { items, 8 };
	struct error e = ERROR_INIT;

	assert_int_equal(run_environment_select(environment, &named, NULL, &r, &e), 0);
	assert_string_equal(value(&r, "GH_TOKEN"), "t");
	assert_string_equal(value(&r, "LD_PRELOAD"), "y");
	assert_string_equal(value(&r, "NEW"), "a=b");
	assert_string_equal(value(&r, "EMPTY"), "");
	assert_string_equal(value(&r, "HOME"), "/other");
	assert_string_equal(value(&r, "EDITOR"), "vi; evil");
	assert_null(value(&r, "AWS_SECRET"));
	assert_int_equal(r.n_named, 7);
	assert_string_equal(r.notes.data, "UNSET is named, but not set.");
	run_environment_done(&r);
}

static void select_by(const char *variable, size_t expected_names, int expected)
{
	const char *with[] = { "A=1", "B=2", variable, NULL };
	struct run_environment r = RUN_ENVIRONMENT_INIT;
	struct option_list none = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(run_environment_select((char *const *)with, &none, NULL, &r, &e), expected);
	assert_int_equal(r.n_named, expected_names);
	assert_int_equal(e.code, expected ? ERROR_INVALID : ERROR_NONE);
	run_environment_done(&r);
}

static void test_iso_allow_forms(void **state)
{
	select_by("ISO_ALLOW=A B", 2, 0);
	select_by("ISO_ALLOW=A,B", 2, 0);
	select_by("CLAUDE_ISO_ALLOW= , A ,\tB\n,,", 2, 0);
	select_by("ISO_ALLOW=", 0, 0);
	select_by("ISO_ALLOW=A A", 1, 0);
	select_by("ISO_ALLOWED=A", 0, 0);
	select_by("ISO_ALLOW=A;B", 0, -EINVAL);
	select_by("ISO_ALLOW=A 1B", 1, -EINVAL);
	select_by("ISO_ALLOW=*", 0, -EINVAL);
	select_by("ISO_ALLOW=A=1", 0, -EINVAL);
}

static void test_invalid_name_is_named(void **state)
{
	const char *items[] = { "A-B=1" };
	struct option_list named = { items, 1 };
	struct run_environment r = RUN_ENVIRONMENT_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(run_environment_select(environment, &named, NULL, &r, &e), -EINVAL);
	assert_string_equal(e.step, "--env");
	assert_string_equal(e.message, "\"A-B\" is not the name of a variable.");
	run_environment_done(&r);
	items[0] = "=x";
	r = (struct run_environment)RUN_ENVIRONMENT_INIT;
	assert_int_equal(run_environment_select(environment, &named, NULL, &r, &e), -EINVAL);
	run_environment_done(&r);
}

static void test_policy_passes(void **state)
{
	struct policy_text items[] = { { .text = "AWS_*" }, { .text = "LD_*" } };
	struct policy_list pass = { items, 2 };
	struct option_list none = { 0 };
	struct run_environment r = RUN_ENVIRONMENT_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(run_environment_select(environment, &none, &pass, &r, &e), 0);
	assert_string_equal(value(&r, "AWS_SECRET"), "s");
	assert_null(value(&r, "LD_PRELOAD")); /* a pattern does not do */
	assert_int_equal(r.n_named, 0);
	run_environment_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_passes), cmocka_unit_test(test_named),
		cmocka_unit_test(test_iso_allow_forms),  cmocka_unit_test(test_invalid_name_is_named),
		cmocka_unit_test(test_policy_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
