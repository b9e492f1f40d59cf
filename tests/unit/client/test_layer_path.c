#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "client/layer/layer_path.h"

static void typed(const char *text, const char *cwd, const char *project, const char *expected)
{
	_cleanup_free_ char *got = layer_path_typed(text, cwd, project);

	if (!expected)
		assert_null(got);
	else
		assert_string_equal(got, expected);
}

static void test_typed(void **state)
{
	typed("a", "/p", "/p", "a");
	typed("./a//b/", "/p", "/p", "a/b");
	typed("a", "/p/sub", "/p", "sub/a");
	typed(".", "/p/sub", "/p", "sub");
	typed("/p/x", "/elsewhere", "/p", "x");
	typed("/p", "/elsewhere", "/p", "");
	/* not in the project: as if typed there */
	typed("a", "/elsewhere", "/p", "a");
	typed("/px", "/p", "/p", NULL);
	typed("/etc/passwd", "/p", "/p", NULL);
	typed("../x", "/p/sub", "/p", NULL);
	typed("a/../b", "/p", "/p", NULL);
	typed("..a", "/p", "/p", "..a");
}

static void test_below(void **state)
{
	assert_string_equal(layer_path_below("/a/b", "/a"), "b");
	assert_string_equal(layer_path_below("/a", "/a"), "");
	assert_string_equal(layer_path_below("a/b", ""), "a/b");
	assert_null(layer_path_below("/ab", "/a"));
	assert_null(layer_path_below("/", "/a"));
}

static void test_leads_out(void **state)
{
	assert_false(layer_path_leads_out("link", "a"));
	assert_false(layer_path_leads_out("link", "./a/b"));
	assert_false(layer_path_leads_out("d/link", "../a"));
	assert_false(layer_path_leads_out("d/e/link", "../../a"));
	assert_false(layer_path_leads_out("link", "..."));
	assert_true(layer_path_leads_out("link", "/p/a"));
	assert_true(layer_path_leads_out("link", ".."));
	assert_true(layer_path_leads_out("d/link", "../../x"));
	/* a, or what comes to stand in its place, may be a link that leads up */
	assert_true(layer_path_leads_out("d/link", "a/../b"));
	assert_true(layer_path_leads_out("d/link", "../a/.."));
}

/* No link is followed on the way, none leads out, and a fifo does not hold anybody up. */
static void test_open(void **state)
{
	char dir[] = "/tmp/isod-layer-XXXXXX", path[128];
	_cleanup_close_ int top = -1, fd = -1;
	const char *name;

	assert_non_null(mkdtemp(dir));
	top = layer_path_open_top(dir);
	assert_true(top >= 0);
	assert_int_equal(mkdirat(top, "d", 0700), 0);
	assert_int_equal(mkdirat(top, "d/e", 0700), 0);
	assert_int_equal(symlinkat("/etc", top, "d/out"), 0);
	assert_int_equal(symlinkat("d", top, "in"), 0);
	assert_int_equal(mkfifoat(top, "fifo", 0600), 0);
	assert_int_equal(layer_path_open(top, "d/out/passwd", O_RDONLY), -ELOOP);
	assert_int_equal(layer_path_open(top, "in/e", O_RDONLY), -ELOOP);
	assert_int_equal(layer_path_open(top, "in", O_RDONLY), -ELOOP);
	assert_int_equal(layer_path_open(top, "../x", O_RDONLY), -EXDEV);
	assert_int_equal(layer_path_open(top, "/etc", O_RDONLY), -EXDEV);
	fd = layer_path_open(top, "fifo", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	/* The link itself can be looked at. */
	fd = layer_path_open(top, "d/out", O_PATH);
	assert_int_equal(readlinkat(fd, "", path, sizeof(path)), 4);
	close(fd);
	fd = layer_path_open_parent(top, "d/e/x", &name);
	assert_true(fd >= 0);
	assert_string_equal(name, "x");
	close(fd);
	/* As a folder a link is none. */
	assert_int_equal(layer_path_open_parent(top, "in/x", &name), -ENOTDIR);
	fd = layer_path_open_parent(top, "x", &name);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "%s/in", dir);
	assert_int_equal(layer_path_open_top(path), -ELOOP);
	assert_int_equal(unlinkat(top, "fifo", 0) | unlinkat(top, "in", 0) | unlinkat(top, "d/out", 0) |
				 unlinkat(top, "d/e", AT_REMOVEDIR) | unlinkat(top, "d", AT_REMOVEDIR) | rmdir(dir),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typed),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_leads_out),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
