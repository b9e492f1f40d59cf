/* What isoctl says at the end of a run. */
#include "client/run/made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"

static void add(struct made *m, bool is_protected, const char *path)
{
	made_add(m, is_protected, path, strlen(path));
}

static void nothing_made_nothing_said(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1 << 20);
	struct made m = MADE_INIT;

	assert_int_equal(made_format(&m, "/p", "0123456789ab", &out), 0);
	assert_int_equal(out.len, 0);
}

static void paths_are_short_and_escaped(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1 << 20);
	static const char text[] = "isod: /dev/x\\x07 is missing.\n"
				   "isod: made during this run, and run later on the host:\n"
				   "isod:   .envrc\n"
				   "isod:   .vscode/a\\n\\x1b]0;x\n"
				   "isod:   .vscodeX\n"
				   "isod:   /pq/.envrc\n"
				   "isod: made during this run; will run on the host when somebody calls it there:\n"
				   "isod:   Makefile\n"
				   "isod: and 7 more made during this run: see isoctl log 0123456789ab\n";
	struct made m = MADE_INIT;

	made_add_lacking(&m, "/dev/x\a is missing.", strlen("/dev/x\a is missing."));
	add(&m, true, "/p/.envrc");
	add(&m, true, "/p/.vscode");
	add(&m, true, "/p/.vscode/a\n\033]0;x");
	add(&m, true, "/p/.vscodeX");
	add(&m, true, "/pq/.envrc");
	add(&m, false, "/p/Makefile");
	m.more = 7;
	assert_int_equal(made_format(&m, "/p", "0123456789ab", &out), 0);
	assert_int_equal(out.len, strlen(text));
	assert_memory_equal(out.data, text, out.len);
	made_done(&m);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct made m = { .planted = BUFFER_INIT(16), .runs = BUFFER_INIT(16) };

	add(&m, true, "/p/.envrc");
	add(&m, true, "/p/.mcp.json");
	assert_int_equal(m.more, 1);
	assert_int_equal(m.planted.len, sizeof("/p/.envrc"));
	made_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_made_nothing_said),
		cmocka_unit_test(paths_are_short_and_escaped),
		cmocka_unit_test(what_does_not_fit_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
