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

#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>

#include "daemon/monitor/etc_layer.h"
#include "daemon/monitor/tree_remove.h"

static char dir[64];
static int top, etc;

static void put_file(const char *path, mode_t mode)
{
	_cleanup_close_ int fd = openat(etc, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void put_folder(const char *path, mode_t mode, uid_t uid)
{
	assert_int_equal(mkdirat(etc, path, 0700), 0);
	assert_int_equal(fchownat(etc, path, uid, uid, 0), 0);
	assert_int_equal(fchmodat(etc, path, mode, 0), 0);
}

static int make(void **state)
{
	strcpy(dir, "/tmp/isod-etc-XXXXXX");
	assert_non_null(mkdtemp(dir));
	top = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_int_equal(mkdirat(top, "host", 0755), 0);
	etc = openat(top, "host", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	put_file("shadow", 0640);
	put_file("passwd", 0644);
	put_file("passwd-", 0644);
	put_file("hostname", 0644);
	put_file("hosts", 0640);
	put_folder("ssh", 0755, 0);
	put_file("ssh/ssh_config", 0644);
	put_file("ssh/ssh_host_rsa_key", 0644);
	put_file("ssh/ssh_host_rsa_key.pub", 0644);
	put_folder("app", 0751, 77);
	put_folder("open", 0755, 88);
	put_folder("open/deeper", 0711, 0);
	put_file("open/secret", 0600);
	put_file("open/plain", 0644);
	assert_int_equal(symlinkat("secret", etc, "open/link"), 0);
	assert_int_equal(symlinkat("../run/stub", etc, "resolv.conf"), 0);
	return 0;
}

static int drop(void **state)
{
	close(etc);
	close(top);
	return tree_remove(AT_FDCWD, dir);
}

static bool is_whiteout(int layer, const char *path)
{
	struct stat st;

	return fstatat(layer, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0;
}

static void test_what_is_hidden(void **state)
{
	static const char *const hidden[] = { "shadow", "passwd-", "ssh/ssh_host_rsa_key", "app", "open/secret",
					      "open/deeper",
					      /* There is none yet, or no folder for it. */
					      "gshadow", "wireguard", "ssh/ssh_host_ed25519_key", "NetworkManager" };
	static const char *const not_there[] = { "passwd", "ssh/ssh_config", "ssh/ssh_host_rsa_key.pub", "open/plain",
						 "open/link" };
	int layer = etc_layer_build(top, "layer", etc, NULL);
	struct stat st;

	assert_true(layer >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		assert_true(is_whiteout(layer, hidden[i]));
	for (size_t i = 0; i < ARRAY_SIZE(not_there); i++)
		assert_int_equal(faccessat(layer, not_there[i], F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(layer, "open", &st, 0), 0);
	assert_int_equal(st.st_uid, 88);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(fstatat(layer, "resolv.conf", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0644);
	/* Ours, also where the host's own is for some only. */
	assert_int_equal(fstatat(layer, "hosts", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size > 0);
	assert_int_equal(fstatat(top, "layer", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	close(layer);
	/* Again over the old one. */
	layer = etc_layer_build(top, "layer", etc, NULL);
	assert_true(layer >= 0);
	close(layer);
}

/* As the kernel merges it. */
static int look_through_overlay(void)
{
	char options[256], path[128];
	struct stat st;

	snprintf(options, sizeof(options), "lowerdir=%s/layer:%s/host", dir, dir);
	snprintf(path, sizeof(path), "%s/view", dir);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	if (mkdir(path, 0755) < 0 || mount("overlay", path, "overlay", MS_RDONLY, options) < 0 || chdir(path) < 0)
		return 2;
	if (stat("passwd", &st) < 0 || stat("ssh/ssh_config", &st) < 0 || stat("open/plain", &st) < 0)
		return 3;
	if (lstat("shadow", &st) == 0 || lstat("ssh/ssh_host_rsa_key", &st) == 0 || lstat("open/secret", &st) == 0)
		return 4;
	return stat("resolv.conf", &st) < 0 || st.st_size == 0 ? 5 : 0;
}

static void test_as_an_overlay(void **state)
{
	int layer = etc_layer_build(top, "layer", etc, NULL), status;
	pid_t pid;

	assert_true(layer >= 0);
	close(layer);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_through_overlay());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool is_readable(int fd)
{
	char event[512];

	return read(fd, event, sizeof(event)) > 0;
}

/* Whatever may make a layer out of date is told, in any folder. */
static void test_is_watched(void **state)
{
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int layer = etc_layer_build(top, "layer", etc, &watch);

	assert_true(layer >= 0 && watch >= 0);
	close(layer);
	assert_false(is_readable(watch));
	put_file("open/new", 0644);
	assert_true(is_readable(watch));
	assert_false(is_readable(watch));
	assert_int_equal(fchmodat(etc, "open/plain", 0600, 0), 0);
	assert_true(is_readable(watch));
	put_folder("later", 0755, 0);
	assert_true(is_readable(watch));
	close(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_hidden),
		cmocka_unit_test(test_as_an_overlay),
		cmocka_unit_test(test_is_watched),
	};

	umask(077);
	return cmocka_run_group_tests(tests, make, drop);
}
