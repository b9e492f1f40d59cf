/* What launch_moves tells of names that are moved, in a tmpfs of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/linux/view/launch_folder.h"
#include "daemon/linux/view/launch_moves.h"

struct tree {
	char top[32];
	struct launch_context *context;
	struct launch launch;
	struct launch_moves *moves;
};

static int open_folder(const struct tree *t, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->top, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void make(const struct tree *t, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", t->top, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void move(const struct tree *t, const char *from, const char *to)
{
	char a[128], b[128];

	snprintf(a, sizeof(a), "%s/%s", t->top, from);
	snprintf(b, sizeof(b), "%s/%s", t->top, to);
	assert_int_equal(rename(a, b), 0);
}

static int enter(const struct tree *t, const char *name)
{
	int fd = open_folder(t, name), r = launch_moves_enter(t->moves, fd, name);

	close(fd);
	return r;
}

/* "view" shows "inside": what a grant is. */
static void grant(const struct tree *t)
{
	char from[64], view[64];

	make(t, "inside");
	make(t, "view");
	snprintf(from, sizeof(from), "%s/inside", t->top);
	snprintf(view, sizeof(view), "%s/view", t->top);
	assert_int_equal(mount(from, view, NULL, MS_BIND, NULL), 0);
}

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	snprintf(t->top, sizeof(t->top), "/tmp/isod-moves-XXXXXX");
	if (!mkdtemp(t->top) || mount("tmpfs", t->top, "tmpfs", 0, NULL) < 0)
		return -1;
	t->launch = (struct launch)LAUNCH_INIT;
	t->context = calloc(1, sizeof(*t->context));
	t->launch.context = t->context;
	t->launch.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	t->launch.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	t->moves = launch_moves_new();
	*state = t;
	return t->moves && t->context ? 0 : -1;
}

static int teardown(void **state)
{
	struct tree *t = *state;
	char view[64];

	snprintf(view, sizeof(view), "%s/view", t->top);
	umount2(view, MNT_DETACH);
	launch_moves_free(t->moves);
	close(t->launch.root_fd);
	close(t->launch.proc_fd);
	if (umount2(t->top, MNT_DETACH) < 0 || rmdir(t->top) < 0)
		return -1;
	free(t->context);
	free(t);
	return 0;
}

/* Of the next move: where to, below the top. */
static void assert_told(struct tree *t, const char *folder, const char *name)
{
	struct launch_moved moved;
	char path[128];

	assert_int_equal(launch_moves_next(t->moves, &t->launch, &moved), 1);
	snprintf(path, sizeof(path), "%s%s%s", t->top, folder[0] ? "/" : "", folder);
	assert_string_equal(moved.folder, path);
	assert_string_equal(moved.name, name);
	close(moved.fd);
}

static void assert_none(struct tree *t)
{
	struct launch_moved moved;

	assert_int_equal(launch_moves_next(t->moves, &t->launch, &moved), 0);
}

static void each_folder_counts_once(void **state)
{
	struct tree *t = *state;
	char name[16];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		make(t, name);
		assert_int_equal(enter(t, name), 0);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(enter(t, name), 1);
	}
	assert_false(launch_moves_is_blind(t->moves));
	assert_none(t);
}

static void moves_are_told(void **state)
{
	struct tree *t = *state;

	make(t, "a");
	make(t, "b");
	make(t, "a/sub");
	assert_int_equal(enter(t, ""), 0);
	assert_int_equal(enter(t, "a"), 0);
	assert_int_equal(enter(t, "b"), 0);
	assert_none(t);
	move(t, "a/sub", "b/sub");
	move(t, "b", "c");
	/* where the folder is now, not where it was */
	assert_told(t, "c", "sub");
	assert_told(t, "", "c");
	assert_none(t);
	move(t, "c/sub", "a/name");
	assert_told(t, "a", "name");
	assert_none(t);
}

/* More than one read brings, in one round. */
static void many_moves(void **state)
{
	struct tree *t = *state;
	char from[16], to[16];

	assert_int_equal(enter(t, ""), 0);
	for (int i = 0; i < 2000; i++) {
		snprintf(from, sizeof(from), "%d", i);
		make(t, from);
		snprintf(to, sizeof(to), "to-%d", i);
		move(t, from, to);
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(to, sizeof(to), "to-%d", i);
		assert_told(t, "", to);
	}
	assert_none(t);
	move(t, "to-0", "later");
	assert_told(t, "", "later");
	assert_none(t);
}

/* Two grants of one folder: what is covered in one is not in the other. */
static void two_mounts_of_a_folder(void **state)
{
	struct tree *t = *state;

	grant(t);
	make(t, "inside/sub");
	assert_int_equal(enter(t, "inside"), 0);
	assert_int_equal(enter(t, "view"), 0);
	assert_int_equal(enter(t, "view"), 1);
	move(t, "inside/sub", "inside/name");
	assert_told(t, "inside", "name");
	assert_told(t, "view", "name");
	assert_none(t);
}

/* Rules about what is above a folder hold under one path and not under another: it is read under each, once. */
static void a_folder_counts_under_each_path(void **state)
{
	struct tree *t = *state;

	make(t, "a");
	make(t, "a/sub");
	make(t, "b");
	assert_int_equal(enter(t, "a"), 0);
	assert_int_equal(enter(t, "a/sub"), 0);
	assert_int_equal(enter(t, "a/sub"), 1);
	move(t, "a/sub", "b/sub");
	assert_int_equal(enter(t, "b"), 0);
	assert_int_equal(enter(t, "b/sub"), 0);
	assert_int_equal(enter(t, "b/sub"), 1);
	move(t, "b/sub", "a/sub");
	assert_int_equal(enter(t, "a/sub"), 1);
}

/* Moves of others on the same file system: nothing is opened for them, so they cost next to nothing. */
static void moves_of_others(void **state)
{
	struct tree *t = *state;
	struct launch_moved moved;
	char from[32], to[32];
	struct rlimit none = { 3, 3 }, limit;

	make(t, "mine");
	make(t, "theirs");
	assert_int_equal(enter(t, "mine"), 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(from, sizeof(from), "theirs/%d", i);
		snprintf(to, sizeof(to), "theirs/to-%d", i);
		make(t, from);
		move(t, from, to);
	}
	assert_int_equal(launch_moves_waiting(t->moves), 5000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(launch_moves_next(t->moves, &t->launch, &moved), 0);
	assert_false(launch_moves_has_missed(t->moves));
	assert_int_equal(launch_moves_waiting(t->moves), 0);
	/* what is to be opened and cannot be is not taken for something that has gone */
	make(t, "mine/x");
	move(t, "mine/x", "mine/y");
	assert_int_equal(launch_moves_next(t->moves, &t->launch, &moved), 0);
	assert_true(launch_moves_has_missed(t->moves));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* What nobody moved is no news: neither a new folder nor one that goes. */
static void nothing_else_is_told(void **state)
{
	struct tree *t = *state;
	char path[128];

	assert_int_equal(enter(t, ""), 0);
	make(t, "new");
	snprintf(path, sizeof(path), "%s/new", t->top);
	assert_int_equal(rmdir(path), 0);
	assert_none(t);
}

/* A grant shows a part of a file system: what is moved to elsewhere is not told, unless into a folder that was in it.
 */
static void what_lies_outside(void **state)
{
	struct tree *t = *state;

	grant(t);
	make(t, "inside/known");
	make(t, "outside");
	make(t, "outside/sub");
	assert_int_equal(enter(t, "view"), 0);
	assert_int_equal(enter(t, "view/known"), 0);
	assert_int_equal(enter(t, "view/known"), 1);
	move(t, "outside/sub", "outside/other");
	assert_none(t);
	move(t, "inside/known", "outside/known");
	assert_none(t);
	/* It comes back with the folder, which is read once more. */
	move(t, "outside/other", "outside/known/other");
	assert_none(t);
	move(t, "outside/known", "inside/known");
	assert_told(t, "view", "known");
	assert_none(t);
	assert_int_equal(enter(t, "view/known"), 0);
	assert_int_equal(enter(t, "view/known"), 1);
}

/* A new folder has the number of one that was removed (ext4 does so at once; here it is made likely by so many). */
static void a_new_folder_in_place_of_another(void **state)
{
	struct tree *t = *state;
	char path[128];

	make(t, "a");
	assert_int_equal(enter(t, "a"), 0);
	snprintf(path, sizeof(path), "%s/a", t->top);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(rmdir(path), 0);
		make(t, "a");
		assert_int_equal(enter(t, "a"), 0);
	}
}

static void a_file_system_without_handles(void **state)
{
	struct tree *t = *state;
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(launch_moves_enter(t->moves, fd, "/proc/self"), 0);
	assert_true(launch_moves_is_blind(t->moves));
	close(fd);
}

/* A folder that waits is found wherever it is moved, by its handle; where a mount lies on it, by its descriptor. */
static void a_folder_that_waits(void **state)
{
	struct tree *t = *state;
	char path[128], view[64], mark[160];
	struct launch_folder *plain, *mounted;
	int top, fd;

	make(t, "a");
	make(t, "a/sub");
	make(t, "a/view");
	snprintf(view, sizeof(view), "%s/a/view", t->top);
	assert_int_equal(mount("tmpfs", view, "tmpfs", 0, NULL), 0);
	snprintf(mark, sizeof(mark), "%s/mark", view);
	assert_int_equal(mkdir(mark, 0700), 0);
	assert_int_equal(enter(t, "a"), 0);
	top = open_folder(t, "a");
	snprintf(path, sizeof(path), "%s/a/sub", t->top);
	plain = launch_folder_new(&t->launch, t->moves, top, path, PATH_WRITABLE, false);
	mounted = launch_folder_new(&t->launch, t->moves, top, view, PATH_WRITABLE, false);
	assert_non_null(plain);
	assert_non_null(mounted);
	assert_non_null(plain->handle);
	assert_null(mounted->handle);
	move(t, "a", "b");
	fd = launch_folder_open(&t->launch, plain);
	assert_true(fd >= 0);
	close(fd);
	fd = launch_folder_open(&t->launch, mounted);
	assert_true(fd >= 0);
	assert_int_equal(faccessat(fd, "mark", F_OK, 0), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/b/sub", t->top);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(launch_folder_open(&t->launch, plain), -ESTALE);
	/* another one is at its path now */
	make(t, "a");
	make(t, "a/sub");
	fd = launch_folder_open(&t->launch, plain);
	assert_true(fd >= 0);
	close(fd);
	snprintf(view, sizeof(view), "%s/b/view", t->top);
	assert_int_equal(umount2(view, MNT_DETACH), 0);
	launch_folder_free(plain);
	launch_folder_free(mounted);
	close(top);
}

static void open_ones_come_first(void **state)
{
	struct tree *t = *state;
	struct launch_folder_queue q;
	struct launch_folder *f[3];

	launch_folder_queue_init(&q);
	assert_null(launch_folder_take(&q));
	assert_int_equal(q.bytes, 0);
	for (int i = 0; i < 3; i++) {
		f[i] = launch_folder_new(&t->launch, NULL, -1, "/x", PATH_WRITABLE, false);
		assert_non_null(f[i]);
	}
	f[2]->fd = open_folder(t, "");
	launch_folder_put(&q, f[0]);
	launch_folder_put(&q, f[1]);
	launch_folder_put(&q, f[2]);
	assert_ptr_equal(launch_folder_take(&q), f[2]);
	assert_ptr_equal(launch_folder_take(&q), f[0]);
	assert_ptr_equal(launch_folder_take(&q), f[1]);
	assert_null(launch_folder_take(&q));
	launch_folder_put(&q, f[2]);
	launch_folder_put(&q, f[0]);
	assert_ptr_equal(launch_folder_take(&q), f[2]);
	assert_ptr_equal(launch_folder_take(&q), f[0]);
	assert_int_equal(q.bytes, 0);
	launch_folder_put(&q, f[0]);
	assert_int_equal(q.bytes, f[0]->size);
	for (int i = 0; i < 3; i++)
		launch_folder_free(f[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_folder_counts_once, setup, teardown),
		cmocka_unit_test_setup_teardown(moves_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(many_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(two_mounts_of_a_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_folder_in_place_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(a_folder_counts_under_each_path, setup, teardown),
		cmocka_unit_test_setup_teardown(moves_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_else_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(what_lies_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_system_without_handles, setup, teardown),
		cmocka_unit_test_setup_teardown(a_folder_that_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(open_ones_come_first, setup, teardown),
	};

	/* The mounts of these tests are not for the machine. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
