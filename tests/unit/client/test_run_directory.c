#include <errno.h>
#include <limits.h>
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

#include "client/run/run_directory.h"

static char base[PATH_MAX];

static char *at(const char *relative)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", base, relative);
	return path;
}

/* base/real/sub, base/link -> real, base/real/inner -> ../other/sub, base/other/sub, base/loop -> loop,
 * base/absolute -> base/link/inner */
static int set_up(void **state)
{
	char temporary[] = "/tmp/isoctl-XXXXXX";

	/* The folder itself without links, so that only ours are met. */
	if (!mkdtemp(temporary) || !realpath(temporary, base))
		return -1;
	if (chdir(base) < 0 || mkdir("real", 0700) < 0 || mkdir("real/sub", 0700) < 0 || mkdir("other", 0700) < 0 ||
	    mkdir("other/sub", 0700) < 0 || symlink("real", "link") < 0 || symlink("../other/sub", "real/inner") < 0 ||
	    symlink("loop", "loop") < 0)
		return -1;
	return symlink(at("link/inner"), "absolute");
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 64];

	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return chdir("/") < 0 ? -1 : system(command);
}

static void assert_link(const struct run_directory *d, size_t i, const char *path, const char *target)
{
	assert_string_equal(d->links[i].path, at(path));
	assert_string_equal(d->links[i].target, target);
}

static void test_walk(void **state)
{
	struct run_directory d = { 0 };
	char target[PATH_MAX + 64];

	assert_int_equal(run_directory_walk(at("real/sub"), &d), 0);
	assert_int_equal(d.n_links, 0);
	assert_int_equal(run_directory_walk(at("absolute"), &d), 0);
	assert_int_equal(d.n_links, 3);
	snprintf(target, sizeof(target), "%s/link/inner", base);
	assert_link(&d, 0, "absolute", target);
	assert_link(&d, 1, "link", "real");
	assert_link(&d, 2, "real/inner", "../other/sub");
	run_directory_done(&d);
}

static void test_walk_is_bounded(void **state)
{
	struct run_directory d = { 0 };

	assert_int_equal(run_directory_walk(at("loop"), &d), -ELOOP);
	assert_int_equal(d.n_links, 1);
	run_directory_done(&d);
	d = (struct run_directory){ 0 };
	assert_int_equal(run_directory_walk(at("none/x"), &d), -ENOENT);
	run_directory_done(&d);
}

/* Links met twice are told once; what cannot be walked leaves what was met before. */
static void test_home(void **state)
{
	struct run_directory d = { 0 };

	run_directory_add_home(at("absolute"), &d);
	assert_int_equal(d.n_links, 3);
	run_directory_add_home(at("link/inner"), &d);
	assert_int_equal(d.n_links, 3);
	run_directory_add_home(at("link/none/x"), &d);
	run_directory_add_home("relative", &d);
	run_directory_add_home("/usr/../bin", &d);
	assert_int_equal(d.n_links, 3);
	assert_link(&d, 1, "link", "real");
	run_directory_done(&d);
}

static void find(const char *pwd, const char *expected_pwd)
{
	struct run_directory d = { 0 };
	struct error e = ERROR_INIT;
	char cwd[PATH_MAX + 64];

	snprintf(cwd, sizeof(cwd), "%s/real", base);
	assert_int_equal(chdir(cwd), 0);
	assert_int_equal(run_directory_find(pwd, &d, &e), 0);
	assert_string_equal(d.cwd, cwd);
	if (expected_pwd)
		assert_string_equal(d.pwd, expected_pwd);
	else
		assert_null(d.pwd);
	run_directory_done(&d);
}

static void test_pwd(void **state)
{
	char pwd[PATH_MAX + 64];

	snprintf(pwd, sizeof(pwd), "%s/link", base);
	find(pwd, pwd);
	find(NULL, NULL);
	find("link", NULL);
	find("/usr", NULL);
	find("/does/not/exist", NULL);
	snprintf(pwd, sizeof(pwd), "%s/real", base); /* what getcwd() says anyway */
	find(pwd, NULL);
	snprintf(pwd, sizeof(pwd), "%s/link/../real", base);
	find(pwd, NULL);
	snprintf(pwd, sizeof(pwd), "%s/link/.", base);
	find(pwd, NULL);
}

static void test_removed(void **state)
{
	struct run_directory d = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(mkdir(at("gone"), 0700), 0);
	assert_int_equal(chdir(at("gone")), 0);
	assert_int_equal(rmdir(at("gone")), 0);
	assert_int_equal(run_directory_find(NULL, &d, &e), -ENOENT);
	assert_string_equal(e.step, "working directory");
	run_directory_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk), cmocka_unit_test(test_walk_is_bounded), cmocka_unit_test(test_home),
		cmocka_unit_test(test_pwd),  cmocka_unit_test(test_removed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
