#include <dirent.h>
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
#include "base/fd.h"
#include "daemon/monitor/layers.h"
#include "daemon/monitor/tree_remove.h"
#include "daemon/wire/plan.h"

#define ID "0123456789ab"

static char dir[64];
static struct place place;

static int make(void **state)
{
	place = (struct place)PLACE_INIT;
	strcpy(dir, "/tmp/isod-layers-XXXXXX");
	assert_non_null(mkdtemp(dir));
	place.layers = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_true(place.layers >= 0);
	return 0;
}

static int drop(void **state)
{
	close(place.layers);
	return tree_remove(AT_FDCWD, dir);
}

static void keep(const char *id, uid_t uid)
{
	struct error e = ERROR_INIT;
	_cleanup_close_ int fd = layers_make(&place, id, uid, "/srv/project", &e);
	struct stat st;

	if (fd < 0)
		fail_msg("%s", e.message);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(mkdirat(fd, "upper", 0755), 0);
}

static size_t count(void)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	size_t n = 0;

	while (readdir(d))
		n++;
	return n - 2;
}

static void record_says_whose_it_is(void **state)
{
	struct layer_record r;
	struct stat before, after;
	_cleanup_close_ int probe = openat(place.layers, "probe", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(fstat(probe, &before), 0);
	keep(ID, 1000);
	assert_int_equal(fchmod(probe, 0644), 0);
	assert_int_equal(fstat(probe, &after), 0);
	assert_int_equal(layers_find(&place, ID, 1000, &r), 0);
	assert_int_equal(r.uid, 1000);
	assert_string_equal(r.id, ID);
	assert_string_equal(r.project, "/srv/project");
	/* Never later than a change that came after it. */
	assert_true(r.started_ns <= after.st_ctim.tv_sec * 1000000000LL + after.st_ctim.tv_nsec);
	assert_true(r.started_ns >= before.st_ctim.tv_sec * 1000000000LL + before.st_ctim.tv_nsec);
	assert_int_equal(layers_find(&place, ID, 0, &r), 0);
	assert_int_equal(layers_find(&place, ID, 1001, &r), -ENOENT);
	assert_int_equal(layers_find(&place, "ffffffffffff", 1000, &r), -ENOENT);
	assert_int_equal(layers_find(&place, "../../../etc", 0, &r), -ENOENT);
}

static void upper_is_for_reading(void **state)
{
	struct stat st, above;
	_cleanup_close_ int fd = -1;

	keep(ID, 1000);
	fd = layers_open_upper(&place, ID);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
	/* Nothing gets in: it would be removed with the layer, by root. */
	assert_int_equal(mkdirat(place.layers, "theirs", 0700), 0);
	assert_int_equal(renameat(place.layers, "theirs", fd, "theirs"), -1);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(mkdirat(fd, "new", 0700), -1);
	assert_int_equal(errno, EROFS);
	/* Nor does anybody get out. */
	assert_int_equal(faccessat(fd, "../record", F_OK, 0), -1);
	assert_int_equal(fstatat(fd, "..", &above, 0), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(above.st_ino, st.st_ino);
	/* A link in its place is not followed. */
	assert_int_equal(unlinkat(place.layers, ID "/upper", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("/etc", place.layers, ID "/upper"), 0);
	assert_true(layers_open_upper(&place, ID) < 0);
}

static void spoilt_records_are_none(void **state)
{
	_cleanup_free_ struct layer_record *list = NULL;
	struct layer_record r;
	size_t n;
	int fd;

	keep(ID, 1000);
	keep("aaaaaaaaaaaa", 1000);
	keep("bbbbbbbbbbbb", 1001);
	fd = openat(place.layers, ID "/record", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	close(fd);
	assert_int_equal(layers_find(&place, ID, 1000, &r), -ENOENT);
	assert_int_equal(layers_list(&place, 1000, &list, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].id, "aaaaaaaaaaaa");
	free(list);
	assert_int_equal(layers_list(&place, 0, &list, &n), 0);
	assert_int_equal(n, 2);
}

static void only_so_many(void **state)
{
	struct error e = ERROR_INIT;
	char id[16];

	for (unsigned i = 0; i < LIMIT_LAYERS_PER_UID; i++) {
		snprintf(id, sizeof(id), "%012x", i);
		keep(id, 1000);
	}
	assert_int_equal(layers_make(&place, ID, 1000, "/p", &e), -EDQUOT);
	assert_int_equal(e.code, ERROR_LIMIT);
	/* Not the others', nor root's. */
	keep("aaaaaaaaaaaa", 1001);
	keep("bbbbbbbbbbbb", 0);
	assert_int_equal(layers_hide(&place, "000000000007"), 0);
	keep(ID, 1000);
}

static void hidden_ones_are_swept(void **state)
{
	struct layer_record r;

	keep(ID, 1000);
	keep("aaaaaaaaaaaa", 1000);
	assert_int_equal(layers_hide(&place, ID), 0);
	assert_int_equal(layers_hide(&place, ID), -ENOENT);
	assert_int_equal(layers_hide(&place, "../x"), -ENOENT);
	assert_int_equal(layers_find(&place, ID, 1000, &r), -ENOENT);
	assert_int_equal(layers_sweep(&place, false), 0);
	assert_int_equal(count(), 1);
}

static void old_ones_are_swept_when_isod_starts(void **state)
{
	struct layer_record r;
	int fd;

	keep(ID, 1000);
	keep("aaaaaaaaaaaa", 1000);
	assert_int_equal(mkdirat(place.layers, "bbbbbbbbbbbb", 0700), 0);
	/* Of a later version: it is not thrown away. */
	assert_int_equal(mkdirat(place.layers, "cccccccccccc", 0700), 0);
	assert_int_equal(mkdirat(place.layers, "cccccccccccc/upper", 0700), 0);
	fd = openat(place.layers, "cccccccccccc/record", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_full(fd, "LYR2", 4), 0);
	close(fd);
	assert_int_equal(mkdirat(place.layers, "not-ours", 0700), 0);
	assert_int_equal(layers_find(&place, ID, 1000, &r), 0);
	r.started_ns -= (LIMIT_LAYER_DAYS + 1) * 86400LL * 1000000000LL;
	fd = openat(place.layers, ID "/record", O_WRONLY | O_CLOEXEC);
	assert_int_equal(fd_write_full(fd, &r, sizeof(r)), 0);
	close(fd);
	assert_int_equal(layers_sweep(&place, false), 0);
	assert_int_equal(count(), 5);
	assert_int_equal(layers_sweep(&place, true), 0);
	assert_int_equal(count(), 3);
	assert_int_equal(layers_find(&place, "aaaaaaaaaaaa", 1000, &r), 0);
}

static void plan_says_what_is_kept(void **state)
{
	struct plan_mount mounts[] = {
		{ .type = PLAN_MOUNT_OVERLAY, .flags = PLAN_GRANT, .source = "/cache", .target = "/cache" },
		{ .type = PLAN_MOUNT_OVERLAY, .flags = PLAN_GRANT | PLAN_KEEP, .source = "/p", .target = "/p" },
	};
	struct plan plan = { .mounts = mounts, .n_mounts = 1 };

	assert_null(layers_kept(&plan));
	plan.n_mounts = 2;
	assert_string_equal(layers_kept(&plan), "/p");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(record_says_whose_it_is, make, drop),
		cmocka_unit_test_setup_teardown(upper_is_for_reading, make, drop),
		cmocka_unit_test_setup_teardown(spoilt_records_are_none, make, drop),
		cmocka_unit_test_setup_teardown(only_so_many, make, drop),
		cmocka_unit_test_setup_teardown(hidden_ones_are_swept, make, drop),
		cmocka_unit_test_setup_teardown(old_ones_are_swept_when_isod_starts, make, drop),
		cmocka_unit_test(plan_says_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
