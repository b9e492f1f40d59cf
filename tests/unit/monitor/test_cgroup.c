/* Control groups, for real on whatever this machine has. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/cgroup/cgroup.h"
#include "daemon/linux/cgroup/cgroup_file.h"
#include "daemon/linux/cgroup/cgroup_unified.h"

#define MOUNT "/sys/fs/cgroup"
#define ID "0123456789ab"

static struct cgroup_host host;
/* Of this process: the test may run twice at once, and each sweeps away what has its tag. */
static char tag[CGROUP_TAG_LEN + 1], other_tag[CGROUP_TAG_LEN + 1];

static int open_host(void **state)
{
	snprintf(tag, sizeof(tag), "0b%06x", (unsigned)getpid() & 0xffffff);
	snprintf(other_tag, sizeof(other_tag), "0c%06x", (unsigned)getpid() & 0xffffff);
	assert_int_equal(cgroup_host_open(&host, MOUNT, tag), 0);
	cgroup_host_sweep(&host);
	return 0;
}

static int close_host(void **state)
{
	cgroup_host_close(&host);
	return 0;
}

static bool can(unsigned controller)
{
	for (unsigned i = 0; i < host.n; i++)
		if (host.hierarchies[i].provides & controller)
			return true;
	return false;
}

static void read_value(const struct cgroup_leaf *leaf, unsigned controller, const char *v1, const char *v2, char *text,
		       size_t size)
{
	for (unsigned i = 0; i < host.n; i++) {
		unsigned provides = host.hierarchies[i].provides;
		_cleanup_close_ int fd = -1;
		ssize_t n;

		if (!(provides & controller))
			continue;
		fd = openat(leaf->dirs[i], provides & CGROUP_UNIFIED ? v2 : v1, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		n = read(fd, text, size - 1);
		assert_true(n >= 0);
		text[n] = '\0';
	}
}

static void remove_leaf(struct cgroup_leaf *leaf)
{
	int r;

	/* The kernel takes the last process out of the group a moment after it was reaped. */
	for (int i = 0; (r = cgroup_leaf_remove(leaf)) == -EBUSY && i < 1000; i++)
		poll(NULL, 0, 1);
	assert_int_equal(r, 0);
	cgroup_leaf_close(leaf);
}

static void test_limits_are_set(void **state)
{
	const struct cgroup_limits limits = { .memory = can(CGROUP_MEMORY) ? 64u << 20 : 0,
					      .pids = can(CGROUP_PIDS) ? 17 : 0,
					      .cpu_pct = can(CGROUP_CPU) ? 150 : 0 };
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	struct error e = ERROR_INIT;
	char text[64] = "", name[sizeof(leaf.name)];

	assert_int_equal(cgroup_leaf_make(&host, ID, &limits, &leaf, &e), 0);
	snprintf(name, sizeof(name), "isod-%s-" ID, tag);
	assert_string_equal(leaf.name, name);
	if (limits.memory) {
		read_value(&leaf, CGROUP_MEMORY, "memory.limit_in_bytes", "memory.max", text, sizeof(text));
		assert_string_equal(text, "67108864\n");
	}
	if (limits.pids) {
		read_value(&leaf, CGROUP_PIDS, "pids.max", "pids.max", text, sizeof(text));
		assert_string_equal(text, "17\n");
	}
	if (limits.cpu_pct) {
		read_value(&leaf, CGROUP_CPU, "cpu.cfs_quota_us", "cpu.max", text, sizeof(text));
		assert_int_equal(strncmp(text, "150000", 6), 0);
	}
	remove_leaf(&leaf);
}

/* A group without the file of the limit itself: an ordinary folder. Only that of swap may be missing. */
static void test_memory_limit_without_its_file(void **state)
{
	const struct cgroup_limits limits = { .memory = 64u << 20 };
	struct cgroup_host fake = { .n = 1 };
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	char dir[] = "/tmp/isod-cgroup-XXXXXX";
	struct error e = ERROR_INIT;

	assert_non_null(mkdtemp(dir));
	fake.hierarchies[0].parent = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	for (unsigned unified = 0; unified < 2; unified++) {
		fake.hierarchies[0].provides = CGROUP_MEMORY | (unified ? CGROUP_UNIFIED : 0);
		e = (struct error)ERROR_INIT;
		assert_int_equal(cgroup_leaf_make(&fake, ID, &limits, &leaf, &e), -ENOENT);
		assert_int_equal(e.code, ERROR_SANDBOX_UNAVAILABLE);
	}
	close(fake.hierarchies[0].parent);
	assert_int_equal(rmdir(dir), 0);
}

static bool is_in(int dir, pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char word[16];

	snprintf(word, sizeof(word), "%d", pid);
	assert_int_equal(cgroup_file_read(dir, "cgroup.procs", &text), 0);
	return cgroup_file_has_word(text, strlen(text), "\n", word);
}

/* Enters the leaf and leaves a tree of children in it, then waits. */
static pid_t start_tree(const struct cgroup_leaf *leaf)
{
	bool unified;
	int fds[CGROUP_MAX], ready[2];
	int n = cgroup_leaf_open_ways(leaf, fds, &unified);
	struct clone_args args = { .exit_signal = SIGCHLD };
	char byte;
	pid_t pid;

	assert_true(n >= 1);
	if (unified) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)fds[n - 1];
	}
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < n - unified; i++)
			if (write(fds[i], "0", 1) != 1)
				_exit(1);
		if (fork() >= 0 && fork() >= 0 && write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(2);
	}
	close(ready[1]);
	for (int i = 0; i < 4; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	for (unsigned i = 0; i < leaf->host->n; i++)
		assert_true(leaf->dirs[i] < 0 || is_in(leaf->dirs[i], pid));
	/* Every writer gone is how the test sees that the whole tree is dead. */
	for (int i = 0; i < n; i++)
		close(fds[i]);
	dup2(ready[0], 200);
	close(ready[0]);
	return pid;
}

static void test_kill_takes_the_tree(void **state)
{
	const struct cgroup_limits none = { 0 };
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	int status;
	char byte;
	pid_t pid;

	assert_int_equal(cgroup_leaf_make(&host, ID, &none, &leaf, NULL), 0);
	pid = start_tree(&leaf);
	assert_int_equal(cgroup_leaf_remove(&leaf), -EBUSY);
	assert_int_equal(cgroup_leaf_kill(&leaf), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(read(200, &byte, 1), 0);
	close(200);
	remove_leaf(&leaf);
}

static void test_v1_kill_without_the_unified_one(void **state)
{
	const struct cgroup_limits none = { 0 };
	struct cgroup_host v1 = CGROUP_HOST_INIT;
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	int status;
	pid_t pid;

	memcpy(v1.tag, tag, sizeof(tag));
	for (unsigned i = 0; i < host.n; i++)
		if (host.hierarchies[i].provides & CGROUP_FREEZER)
			v1.hierarchies[v1.n++] = host.hierarchies[i];
	if (v1.n == 0) { /* a machine with v2 only: nothing is ever ended that way there */
		assert_true(can(CGROUP_UNIFIED));
		return;
	}
	assert_int_equal(cgroup_leaf_make(&v1, ID, &none, &leaf, NULL), 0);
	pid = start_tree(&leaf);
	assert_int_equal(cgroup_leaf_kill(&leaf), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(200);
	remove_leaf(&leaf);
}

static void test_missing_controller(void **state)
{
	const struct cgroup_limits limits = { .pids = 10 }, none = { 0 };
	struct cgroup_host empty = CGROUP_HOST_INIT;
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	struct error e = ERROR_INIT;
	int fds[CGROUP_MAX];
	bool unified;

	memcpy(empty.tag, tag, sizeof(tag));
	assert_int_equal(cgroup_leaf_make(&empty, ID, &none, &leaf, &e), 0);
	assert_int_equal(cgroup_leaf_open_ways(&leaf, fds, &unified), 0);
	assert_false(unified);
	assert_int_equal(cgroup_leaf_remove(&leaf), 0);
	assert_true(cgroup_leaf_make(&empty, ID, &limits, &leaf, &e) < 0);
	assert_int_equal(e.code, ERROR_SANDBOX_UNAVAILABLE);
	assert_non_null(strstr(e.message, "pids"));
}

static void test_sweep_spares_others(void **state)
{
	const struct cgroup_limits none = { 0 };
	struct cgroup_host other = host;
	struct cgroup_leaf mine = CGROUP_LEAF_INIT, theirs = CGROUP_LEAF_INIT;
	int status;
	pid_t pid;

	memcpy(other.tag, other_tag, sizeof(other_tag));
	assert_int_equal(cgroup_leaf_make(&host, ID, &none, &mine, NULL), 0);
	assert_int_equal(cgroup_leaf_make(&other, ID, &none, &theirs, NULL), 0);
	pid = start_tree(&mine);
	cgroup_host_sweep(&host);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(200);
	cgroup_host_sweep(&host);
	for (unsigned i = 0; i < host.n; i++)
		assert_int_equal(faccessat(host.hierarchies[i].parent, theirs.name, F_OK, 0), 0);
	remove_leaf(&mine);
	remove_leaf(&theirs);
}

/* ---- which group of the unified hierarchy ---- */

static int open_unified(void)
{
	int fd = open(MOUNT "/unified/cgroup.controllers", O_RDONLY | O_CLOEXEC);
	bool mixed = fd >= 0;

	if (mixed)
		close(fd);
	return open(mixed ? MOUNT "/unified" : MOUNT, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

/* Whichever controller is to be had there stands for memory: the kernel's rules are the same for each that counts
 * by group. */
static struct cgroup_unified_controller pick_controller(int root)
{
	static char text[256];
	_cleanup_free_ char *all = NULL;

	assert_int_equal(cgroup_file_read(root, "cgroup.controllers", &all), 0);
	if (cgroup_file_has_word(all, strlen(all), " \n", "memory"))
		return (struct cgroup_unified_controller){ "memory", CGROUP_MEMORY };
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(all, " \n"), all);
	return (struct cgroup_unified_controller){ text, CGROUP_MEMORY };
}

struct placed {
	unsigned provides;
	bool at_root, holds_processes, has_file;
	int group_gone; /* errno of looking for isod's groups after closing */
};

/* In a process that is in group: opens, tries a leaf, closes. */
static void place_in(int root, const char *group, struct cgroup_unified_controller wanted, int answer)
{
	const struct cgroup_limits none = { 0 };
	struct cgroup_host h = CGROUP_HOST_INIT;
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	struct placed p = { 0 };
	char path[256];
	pid_t pid;

	memcpy(h.tag, tag, sizeof(tag));
	cgroup_unified_open(&h, dup(root), group, &wanted, 1);
	p.provides = h.hierarchies[0].provides;
	p.at_root = h.unified.at_root;
	if (cgroup_leaf_make(&h, ID, &none, &leaf, NULL) < 0)
		_exit(1);
	snprintf(path, sizeof(path), "%s.max", strcmp(wanted.name, "hugetlb") == 0 ? "hugetlb.2MB" : wanted.name);
	p.has_file = faccessat(leaf.dirs[0], path, F_OK, 0) == 0;
	pid = fork();
	if (pid == 0)
		_exit(cgroup_file_write(leaf.dirs[0], "cgroup.procs", "0") < 0);
	if (pid > 0) {
		int status;

		waitpid(pid, &status, 0);
		p.holds_processes = status == 0;
	}
	remove_leaf(&leaf);
	cgroup_host_close(&h);
	snprintf(path, sizeof(path), "isod-%s", tag);
	p.group_gone = faccessat(root, path, F_OK, 0) < 0 ? errno : 0;
	snprintf(path, sizeof(path), "%s/isod-%s-daemon", group, tag);
	p.group_gone = p.group_gone && faccessat(root, path, F_OK, 0) < 0 ? errno : 0;
	_exit(write(answer, &p, sizeof(p)) != sizeof(p));
}

/* A group below the root with this process' child in it, and another one if crowded. */
static struct placed try_place(int root, bool crowded)
{
	struct cgroup_unified_controller wanted = pick_controller(root);
	int answer[2], hold[2], status, dir;
	struct placed p = { 0 };
	pid_t pid, other = -1;
	char name[64], byte;

	snprintf(name, sizeof(name), "isod-test-%s", tag);
	cgroup_file_write(root, "cgroup.subtree_control", "+%s", wanted.name);
	assert_int_equal(mkdirat(root, name, 0755), 0);
	dir = openat(root, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	if (crowded) {
		other = fork();
		if (other == 0) {
			close(hold[1]);
			_exit(read(hold[0], &byte, 1) != 0);
		}
		assert_int_equal(cgroup_file_write(dir, "cgroup.procs", "%d", (int)other), 0);
	}
	pid = fork();
	if (pid == 0) {
		if (cgroup_file_write(dir, "cgroup.procs", "0") < 0)
			_exit(1);
		place_in(root, name, wanted, answer[1]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(answer[0], &p, sizeof(p)), sizeof(p));
	close(hold[1]);
	if (crowded)
		assert_int_equal(waitpid(other, &status, 0), other);
	for (int i = 0; unlinkat(root, name, AT_REMOVEDIR) < 0; i++) {
		assert_true(errno == EBUSY && i < 1000);
		poll(NULL, 0, 1);
	}
	close(dir);
	close(hold[0]);
	close(answer[0]);
	close(answer[1]);
	return p;
}

static void test_alone_in_a_delegated_group(void **state)
{
	int root = open_unified();
	struct placed p = try_place(root, false);

	assert_int_equal(p.provides, CGROUP_UNIFIED | CGROUP_MEMORY);
	assert_false(p.at_root);
	assert_true(p.has_file);
	assert_true(p.holds_processes);
	assert_int_equal(p.group_gone, ENOENT);
	close(root);
}

/* The session of a login: others are in it, and nothing can be handed down there. */
static void test_others_in_the_group(void **state)
{
	int root = open_unified();
	struct placed p = try_place(root, true);

	assert_int_equal(p.provides, CGROUP_UNIFIED | CGROUP_MEMORY);
	assert_true(p.at_root);
	assert_true(p.has_file);
	assert_true(p.holds_processes);
	assert_int_equal(p.group_gone, ENOENT);
	close(root);
}

/* What a killed isod left at the root goes when the next one lies elsewhere. */
static void test_a_stale_group_at_the_root(void **state)
{
	struct cgroup_host h = CGROUP_HOST_INIT;
	int root = open_unified(), dir;
	char name[64];

	memcpy(h.tag, tag, sizeof(tag));
	h.unified.root = root;
	snprintf(name, sizeof(name), "isod-%s", tag);
	assert_int_equal(mkdirat(root, name, 0755), 0);
	dir = openat(root, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	snprintf(name, sizeof(name), "isod-%s-" ID, tag);
	assert_int_equal(mkdirat(dir, name, 0755), 0);
	close(dir);
	cgroup_host_sweep(&h);
	snprintf(name, sizeof(name), "isod-%s", tag);
	assert_int_equal(faccessat(root, name, F_OK, 0), -1);
	close(root);
}

static void test_bad_arguments(void **state)
{
	struct cgroup_host h;

	assert_int_equal(cgroup_host_open(&h, MOUNT, "short"), -EINVAL);
	assert_int_equal(cgroup_host_open(&h, "/nonexistent", tag), 0);
	assert_int_equal(h.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_are_set),      cmocka_unit_test(test_memory_limit_without_its_file),
		cmocka_unit_test(test_kill_takes_the_tree), cmocka_unit_test(test_v1_kill_without_the_unified_one),
		cmocka_unit_test(test_missing_controller),  cmocka_unit_test(test_sweep_spares_others),
		cmocka_unit_test(test_bad_arguments),       cmocka_unit_test(test_alone_in_a_delegated_group),
		cmocka_unit_test(test_others_in_the_group), cmocka_unit_test(test_a_stale_group_at_the_root),
	};

	return cmocka_run_group_tests(tests, open_host, close_host);
}
