#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"

#include <sys/resource.h>

#include "daemon/monitor/tree_remove.h"

static char dir[64];
static int top;

static int make(void **state)
{
	strcpy(dir, "/tmp/isod-tree-XXXXXX");
	assert_non_null(mkdtemp(dir));
	top = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_true(top >= 0);
	return 0;
}

static int drop(void **state)
{
	close(top);
	return rmdir(dir);
}

static void put_file(int parent, const char *name)
{
	_cleanup_close_ int fd = openat(parent, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0000);

	assert_true(fd >= 0);
}

static void test_missing_file_link(void **state)
{
	assert_int_equal(tree_remove(top, "nothing"), 0);
	put_file(top, "file");
	assert_int_equal(tree_remove(top, "file"), 0);
	assert_int_equal(faccessat(top, "file", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	/* A link goes, what it points to stays. */
	assert_int_equal(mkdirat(top, "kept", 0700), 0);
	assert_int_equal(mkdirat(top, "kept/inside", 0700), 0);
	assert_int_equal(symlinkat("kept", top, "link"), 0);
	assert_int_equal(tree_remove(top, "link"), 0);
	assert_int_equal(faccessat(top, "kept/inside", F_OK, 0), 0);
	assert_int_equal(tree_remove(top, "kept"), 0);
}

static void test_links_inside_are_not_followed(void **state)
{
	assert_int_equal(mkdirat(top, "outside", 0700), 0);
	put_file(top, "outside/precious");
	assert_int_equal(mkdirat(top, "tree", 0700), 0);
	assert_int_equal(mkdirat(top, "tree/a", 0700), 0);
	assert_int_equal(symlinkat("../../outside", top, "tree/a/way-out"), 0);
	assert_int_equal(symlinkat("../outside", top, "tree/way-out"), 0);
	assert_int_equal(tree_remove(top, "tree"), 0);
	assert_int_equal(faccessat(top, "outside/precious", F_OK, 0), 0);
	assert_int_equal(tree_remove(top, "outside"), 0);
}

/* Far deeper than any stack, path or table of descriptors would bear. */
static void test_depth(void **state)
{
	const struct rlimit few = { 32, 32 };
	struct rlimit before;
	int at;

	assert_int_equal(mkdirat(top, "deep", 0700), 0);
	at = openat(top, "deep", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 5000; i++) {
		int next;

		put_file(at, "file");
		/* Names such as the remover itself gives. */
		assert_int_equal(mkdirat(at, ".hoisted-1", 0), 0);
		assert_int_equal(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ few.rlim_cur, before.rlim_max }), 0);
	assert_int_equal(tree_remove(top, "deep"), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void test_width_and_kinds(void **state)
{
	char name[32];
	int tree;

	assert_int_equal(mkdirat(top, "wide", 0700), 0);
	tree = openat(top, "wide", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (i % 3 == 0)
			put_file(tree, name);
		else if (i % 3 == 1)
			assert_int_equal(mkdirat(tree, name, 0), 0);
		else
			assert_int_equal(mknodat(tree, name, S_IFIFO | 0600, 0), 0);
	}
	close(tree);
	assert_int_equal(tree_remove(top, "wide"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_file_link),
		cmocka_unit_test(test_links_inside_are_not_followed),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_width_and_kinds),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
