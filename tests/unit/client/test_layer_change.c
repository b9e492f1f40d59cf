/* Layers put together by hand, compared and applied. As root: whiteouts are device nodes. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/layer/layer.h"
#include "client/layer/layer_apply.h"
#include "client/layer/layer_change.h"
#include "client/layer/layer_path.h"
#include "client/layer/layer_select.h"
#include "view/protect.h"

static char dir[] = "/var/tmp/isod-change-XXXXXX";
static struct layer layer;
static struct changes changes;
static int nothing;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void put(int top, const char *path, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = openat(top, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static void expect(const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(layer.project_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *data = NULL;
	size_t len;

	if (!text) {
		assert_true(fd < 0);
		return;
	}
	assert_int_equal(fd_read_file(fd, 4096, &data, &len), 0);
	assert_string_equal(data, text);
}

static void whiteout(const char *path)
{
	assert_int_equal(mknodat(layer.upper, path, S_IFCHR, makedev(0, 0)), 0);
}

static int make(void **state)
{
	char path[128];

	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	layer = (struct layer)LAYER_INIT;
	strcpy(layer.id, "0123456789ab");
	snprintf(path, sizeof(path), "%s/upper", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	layer.upper = layer_path_open_top(path);
	snprintf(path, sizeof(path), "%s/project", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	layer.project = strdup(path);
	layer.project_fd = layer_path_open_top(path);
	/* Everything is older than the session, unless a test says otherwise. */
	layer.started_ns = INT64_MAX;
	changes = (struct changes)CHANGES_INIT;
	return layer.upper < 0 || layer.project_fd < 0;
}

static int drop(void **state)
{
	changes_done(&changes);
	layer_done(&layer);
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void find(void)
{
	struct error e = ERROR_INIT;
	char *none[] = { NULL };

	changes_done(&changes);
	if (changes_find(&layer, &changes, &e) < 0)
		fail_msg("%s", e.message);
	assert_int_equal(layer_select(&layer, &changes, none, &e), 0);
}

static struct apply_result apply(bool force, bool overwrite)
{
	const struct apply_options options = { .force = force, .overwrite = overwrite };
	struct apply_result result;

	layer_apply(&layer, &changes, &options, &nothing, &result);
	return result;
}

static void expect_kind(const char *path, enum change_kind kind)
{
	const struct change *c = changes_get(&changes, path);

	if (!c)
		fail_msg("%s: no change", path);
	else if (c->kind != kind)
		fail_msg("%s: %s", path, change_kind_name(c->kind));
}

static void test_equal_is_no_change(void **state)
{
	put(layer.project_fd, "a", "text", 0644);
	put(layer.upper, "a", "text", 0644);
	assert_int_equal(symlinkat("a", layer.project_fd, "l"), 0);
	assert_int_equal(symlinkat("a", layer.upper, "l"), 0);
	assert_int_equal(mkdirat(layer.project_fd, "d", 0755), 0);
	assert_int_equal(mkdirat(layer.upper, "d", 0755), 0);
	whiteout("never-was");
	find();
	assert_int_equal(changes.count, 0);
}

static void test_kinds(void **state)
{
	put(layer.project_fd, "same-size", "aaaa", 0644);
	put(layer.upper, "same-size", "aaab", 0644);
	put(layer.project_fd, "mode", "x", 0644);
	put(layer.upper, "mode", "x", 0755);
	put(layer.project_fd, "gone", "g", 0644);
	whiteout("gone");
	put(layer.project_fd, "type", "t", 0644);
	assert_int_equal(symlinkat("x", layer.upper, "type"), 0);
	assert_int_equal(mkfifoat(layer.upper, "fifo", 0600), 0);
	/* Bits that are never taken over make no difference. */
	put(layer.project_fd, "bits", "b", 0755);
	put(layer.upper, "bits", "b", 0755);
	assert_int_equal(fchmodat(layer.upper, "bits", 04755, 0), 0);
	find();
	assert_int_equal(changes.count, 5);
	expect_kind("same-size", CHANGE_CHANGED);
	expect_kind("mode", CHANGE_MODE);
	expect_kind("gone", CHANGE_DELETED);
	expect_kind("type", CHANGE_REPLACED);
	expect_kind("fifo", CHANGE_SPECIAL);
}

static void test_opaque_hides_what_was_there(void **state)
{
	assert_int_equal(mkdirat(layer.project_fd, "d", 0755), 0);
	put(layer.project_fd, "d/old", "o", 0644);
	assert_int_equal(mkdirat(layer.upper, "d", 0755), 0);
	put(layer.upper, "d/new", "n", 0644);
	find();
	assert_int_equal(changes.count, 1);
	{
		_cleanup_close_ int fd = openat(layer.upper, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(fsetxattr(fd, "user.overlay.opaque", "y", 1, 0), 0);
	}
	find();
	assert_int_equal(changes.count, 2);
	expect_kind("d/old", CHANGE_DELETED);
	assert_int_equal(apply(false, false).left, 0);
	expect("d/old", NULL);
	expect("d/new", "n");
}

static void test_renames(void **state)
{
	put(layer.project_fd, "a", "content", 0644);
	put(layer.project_fd, "empty", "", 0644);
	put(layer.project_fd, "other", "CONTENT", 0644);
	whiteout("a");
	whiteout("empty");
	whiteout("other");
	put(layer.upper, "b", "content", 0644);
	put(layer.upper, "c", "content", 0644);
	put(layer.upper, "empty2", "", 0644);
	find();
	/* One source, one target; nothing is said of empty files. */
	assert_string_equal(changes_get(&changes, "b")->other, "a");
	assert_null(changes_get(&changes, "c")->other);
	assert_null(changes_get(&changes, "empty2")->other);
	assert_true(changes_get(&changes, "a")->flags & CHANGE_MOVED_AWAY);
	assert_false(changes_get(&changes, "other")->flags & CHANGE_MOVED_AWAY);
	/* Where the new one cannot be made, the old one stays. */
	put(layer.project_fd, "b", "host", 0644);
	assert_int_equal(apply(false, false).left, 1);
	expect("b", "host");
	expect("a", "content");
	expect("other", NULL);
}

/* Between the comparison and the applying: whatever comes, the host's stays. */
static void test_last_moment_edits_stay(void **state)
{
	static const char *const names[] = { "changed", "deleted", "mode", "type" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(layer.project_fd, names[i], "begin", 0644);
	put(layer.upper, "changed", "agent", 0644);
	put(layer.upper, "new", "agent", 0644);
	put(layer.upper, "mode", "begin", 0600);
	whiteout("deleted");
	assert_int_equal(mkdirat(layer.upper, "type", 0755), 0);
	find();
	assert_int_equal(changes.count, 5);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(layer.project_fd, names[i], "host edit", 0644);
	put(layer.project_fd, "new", "host edit", 0644);
	assert_int_equal(apply(true, true).left, 5);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect(names[i], "host edit");
	expect("new", "host edit");
	/* Seen now, and asked for. */
	find();
	assert_int_equal(apply(true, true).left, 0);
	expect("changed", "agent");
	expect("deleted", NULL);
}

static void test_conflicts_by_time(void **state)
{
	struct stat st;

	put(layer.project_fd, "a", "host", 0644);
	put(layer.upper, "a", "agent", 0644);
	assert_int_equal(fstatat(layer.project_fd, "a", &st, 0), 0);
	layer.started_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
	find();
	assert_true(changes_get(&changes, "a")->flags & CHANGE_CONFLICT);
	assert_int_equal(apply(true, false).left, 1);
	expect("a", "host");
	layer.started_ns++;
	find();
	assert_false(changes_get(&changes, "a")->flags & CHANGE_CONFLICT);
	assert_int_equal(apply(false, false).applied, 1);
	expect("a", "agent");
}

/* A folder that a protected file is in cannot be brought as a whole, nor taken away, nor turned into a link. */
static void test_protections(void **state)
{
	assert_int_equal(mkdirat(layer.project_fd, ".git", 0755), 0);
	put(layer.project_fd, ".git/config", "[core]", 0644);
	assert_int_equal(symlinkat("elsewhere", layer.upper, ".git"), 0);
	assert_int_equal(mkdirat(layer.upper, "sub", 0755), 0);
	assert_int_equal(mkdirat(layer.upper, "sub/.Git", 0755), 0);
	assert_int_equal(mkdirat(layer.upper, "sub/.Git/Hooks", 0755), 0);
	put(layer.upper, "sub/.Git/Hooks/x", "x", 0755);
	put(layer.upper, "sub/plain", "x", 0755);
	find();
	assert_int_not_equal(changes_get(&changes, ".git")->protection, PROTECT_NONE);
	assert_int_not_equal(changes_get(&changes, ".git/config")->protection, PROTECT_NONE);
	assert_int_equal(changes_get(&changes, "sub/.Git/Hooks/x")->protection, PROTECT_GIT_HOOKS);
	assert_int_equal(changes_get(&changes, "sub/plain")->protection, PROTECT_NONE);
	assert_true(apply(false, false).left >= 3);
	expect(".git/config", "[core]");
	expect("sub/.Git/Hooks/x", NULL);
	expect("sub/plain", "x");
}

static void test_leftovers_go(void **state)
{
	put(layer.project_fd, ".isod-apply-0123456789ab", "half", 0600);
	put(layer.project_fd, ".isod-apply-ffffffffffff", "another's", 0600);
	find();
	expect(".isod-apply-0123456789ab", "half");
	layer.leftover = ".isod-apply-0123456789ab";
	find();
	expect(".isod-apply-0123456789ab", NULL);
	expect(".isod-apply-ffffffffffff", "another's");
}

static void test_modes_of_folders(void **state)
{
	struct stat st;

	assert_int_equal(mkdirat(layer.upper, "closed", 0500), 0);
	put(layer.upper, "closed/f", "f", 0400);
	assert_int_equal(mkdirat(layer.project_fd, "was-open", 0755), 0);
	assert_int_equal(mkdirat(layer.upper, "was-open", 0500), 0);
	put(layer.upper, "was-open/f", "f", 0644);
	find();
	assert_int_equal(apply(false, false).left, 0);
	assert_int_equal(fstatat(layer.project_fd, "closed", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0500);
	assert_int_equal(fstatat(layer.project_fd, "was-open", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0500);
	expect("closed/f", "f");
	find();
	assert_int_equal(changes.count, 0);
}

static void test_number_is_bounded(void **state)
{
	struct error e = ERROR_INIT;

	put(layer.upper, "a", "a", 0644);
	put(layer.upper, "b", "b", 0644);
	changes.seen = LIMIT_LAYER_ENTRIES - 1;
	assert_int_equal(changes_find(&layer, &changes, &e), -E2BIG);
	assert_int_equal(e.code, ERROR_LIMIT);
}

static void test_stop_leaves_the_rest(void **state)
{
	static const int now = 1;
	const struct apply_options options = { .force = true };
	struct apply_result result;

	put(layer.upper, "a", "a", 0644);
	find();
	layer_apply(&layer, &changes, &options, &now, &result);
	assert_true(result.interrupted);
	assert_int_equal(result.applied, 0);
	expect("a", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_equal_is_no_change),
		TEST(test_kinds),
		TEST(test_opaque_hides_what_was_there),
		TEST(test_renames),
		TEST(test_last_moment_edits_stay),
		TEST(test_conflicts_by_time),
		TEST(test_protections),
		TEST(test_leftovers_go),
		TEST(test_modes_of_folders),
		TEST(test_number_is_bounded),
		TEST(test_stop_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
