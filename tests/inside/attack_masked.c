/*
 * What a policy masks (a file whose content must not be read) and locks (a file or folder that must not be changed,
 * replaced or moved), inside a folder that is the program's to write. The paths are relative to the working directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

#define ELSEWHERE "isod-elsewhere"
#define MOUNT_BIND 4096
#define MOUNT_REC 16384
#define MOUNT_REMOUNT 32
#define DETACH 2

const char *attempt_masked, *attempt_locked_file, *attempt_locked_folder;

static char detail[512];

static const char *wrong(const char *what)
{
	snprintf(detail, sizeof(detail), "%s: %s", what, errno ? strerror(errno) : "it succeeded");
	return detail;
}

#define EXPECT(error, call)                                                                                            \
	do {                                                                                                           \
		if (!REFUSED_WITH(error, call))                                                                        \
			return wrong(#call);                                                                           \
	} while (0)

/* Either of two, where kernels or file systems differ. */
#define EXPECT2(one, other, call)                                                                                      \
	do {                                                                                                           \
		if (!REFUSED_WITH(one, call) && errno != (other))                                                      \
			return wrong(#call);                                                                           \
	} while (0)

static int open_below(const char *prefix, const char *path, int flags)
{
	char whole[4096];

	snprintf(whole, sizeof(whole), "%s/%s", prefix, path);
	return open(whole, flags | O_CLOEXEC, 0600);
}

static int open_again(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static int make_elsewhere(void)
{
	int fd = open(ELSEWHERE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd;
}

static const char *read_masked(void)
{
	int path = open(attempt_masked, O_PATH | O_CLOEXEC);

	EXPECT(EACCES, open(attempt_masked, O_RDONLY));
	EXPECT(EACCES, open(attempt_masked, O_RDWR));
	EXPECT(EACCES, open_below("/proc/self/cwd", attempt_masked, O_RDONLY));
	EXPECT(EACCES, open_again(path, O_RDONLY));
	EXPECT(EACCES, open_again(path, O_RDWR));
	EXPECT(EACCES, execl(attempt_masked, attempt_masked, NULL));
	return NULL;
}

static const char *change_masked(void)
{
	EXPECT2(EROFS, EACCES, open(attempt_masked, O_WRONLY | O_TRUNC));
	EXPECT2(EROFS, EPERM, chmod(attempt_masked, 0666));
	EXPECT2(EROFS, EPERM, chown(attempt_masked, getuid(), (gid_t)-1));
	return NULL;
}

/* It stays where it is, so that it is not read under another name. */
static const char *move_masked(void)
{
	if (make_elsewhere() < 0)
		return "the folder is not ours to write";
	EXPECT(EBUSY, rename(attempt_masked, ELSEWHERE));
	EXPECT(EBUSY, rename(ELSEWHERE, attempt_masked));
	EXPECT(EBUSY, renameat2(AT_FDCWD, attempt_masked, AT_FDCWD, ELSEWHERE, RENAME_EXCHANGE));
	EXPECT(EBUSY, unlink(attempt_masked));
	unlink(ELSEWHERE);
	EXPECT(EXDEV, link(attempt_masked, ELSEWHERE));
	EXPECT2(EPERM, EXDEV, syscall(SYS_mount, "/dev/null", attempt_masked, NULL, MOUNT_BIND, NULL));
	return NULL;
}

static const char *masked_handle(void)
{
	struct file_handle *handle = calloc(1, sizeof(*handle) + MAX_HANDLE_SZ);
	int mount_id, at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	handle->handle_bytes = MAX_HANDLE_SZ;
	(void)name_to_handle_at(AT_FDCWD, attempt_masked, handle, &mount_id, 0);
	EXPECT(EPERM, open_by_handle_at(at, handle, O_RDONLY));
	return NULL;
}

static const char *change_locked(void)
{
	int fd = open(attempt_locked_file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return wrong("reading what is locked");
	EXPECT(EROFS, open(attempt_locked_file, O_WRONLY));
	EXPECT(EROFS, open(attempt_locked_file, O_WRONLY | O_TRUNC));
	EXPECT(EROFS, open_again(fd, O_RDWR));
	EXPECT(EROFS, open_below("/proc/self/cwd", attempt_locked_file, O_WRONLY));
	EXPECT(EROFS, truncate(attempt_locked_file, 0));
	EXPECT(EROFS, chmod(attempt_locked_file, 0777));
	EXPECT(EROFS, fchmod(fd, 0777));
	EXPECT(EROFS, fchown(fd, getuid(), (gid_t)-1));
	EXPECT(EROFS, utimensat(AT_FDCWD, attempt_locked_file, NULL, 0));
	EXPECT2(EROFS, EOPNOTSUPP, setxattr(attempt_locked_file, "user.isod", "x", 1, 0));
	return NULL;
}

static const char *replace_locked(void)
{
	if (make_elsewhere() < 0)
		return "the folder is not ours to write";
	EXPECT2(EBUSY, EXDEV, rename(attempt_locked_file, ELSEWHERE));
	EXPECT2(EBUSY, EXDEV, rename(ELSEWHERE, attempt_locked_file));
	EXPECT2(EBUSY, EXDEV, renameat2(AT_FDCWD, attempt_locked_file, AT_FDCWD, ELSEWHERE, RENAME_EXCHANGE));
	EXPECT2(EBUSY, EROFS, unlink(attempt_locked_file));
	unlink(ELSEWHERE);
	EXPECT(EXDEV, link(attempt_locked_file, ELSEWHERE));
	return NULL;
}

static const char *change_locked_folder(void)
{
	EXPECT(EROFS, open_below(attempt_locked_folder, "isod-new", O_WRONLY | O_CREAT));
	EXPECT(EROFS, open(attempt_locked_folder, O_TMPFILE | O_WRONLY, 0600));
	if (chdir(attempt_locked_folder) < 0)
		return wrong("entering what is locked");
	EXPECT(EROFS, mkdir("isod-new", 0700));
	EXPECT(EROFS, symlink("/bin/sh", "isod-new"));
	EXPECT2(EROFS, EPERM, mknod("isod-new", S_IFIFO | 0600, 0));
	EXPECT(EROFS, chmod(".", 0777));
	return NULL;
}

static const char *replace_locked_folder(void)
{
	if (mkdir(ELSEWHERE, 0700) < 0)
		return wrong("making a folder beside");
	EXPECT2(EBUSY, EXDEV, rename(attempt_locked_folder, ELSEWHERE));
	EXPECT2(EBUSY, EXDEV, rename(ELSEWHERE, attempt_locked_folder));
	EXPECT2(EBUSY, EXDEV, renameat2(AT_FDCWD, attempt_locked_folder, AT_FDCWD, ELSEWHERE, RENAME_EXCHANGE));
	EXPECT2(EBUSY, EROFS, rmdir(attempt_locked_folder));
	rmdir(ELSEWHERE);
	return NULL;
}

/* The folder that the locked ones lie in: moved away, another one could take its place. */
static const char *move_parent(void)
{
	char parent[4096];

	snprintf(parent, sizeof(parent), "%s", attempt_locked_folder);
	if (!strrchr(parent, '/'))
		return "the attempt needs a folder that lies in another";
	*strrchr(parent, '/') = '\0';
	EXPECT(EBUSY, rename(parent, ELSEWHERE));
	return NULL;
}

const struct attempt attempts_masked[] = {
	{ "read-masked", read_masked, false },
	{ "change-masked", change_masked, false },
	{ "move-masked", move_masked, false },
	{ "masked-handle", masked_handle, false },
	{ "change-locked", change_locked, false },
	{ "replace-locked", replace_locked, false },
	{ "change-locked-folder", change_locked_folder, false },
	{ "replace-locked-folder", replace_locked_folder, false },
	{ "move-parent", move_parent, false },
	{ NULL, NULL, false },
};

/* ---- with user namespaces allowed (process.nesting): root in one of its own, with mounts of its own ---- */

static const char *become_nested(void)
{
	char map[64];
	uid_t uid = getuid();
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return wrong("unshare");
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "deny", 4);
	close(fd);
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	snprintf(map, sizeof(map), "0 %u 1", uid);
	/* Nobody in root's session may map uid 0; the capabilities are there without. */
	return write(fd, map, strlen(map)) < 0 && uid != 0 ? wrong("uid_map") : NULL;
}

static const char *parent_of(const char *path, char *ret)
{
	char *slash;

	snprintf(ret, 4096, "%s", path);
	slash = strrchr(ret, '/');
	snprintf(slash ? slash : ret, 4096 - (size_t)(slash ? slash - ret : 0), "%s", slash ? "" : ".");
	return ret;
}

#define NESTED()                                                                                                       \
	do {                                                                                                           \
		const char *why = become_nested();                                                                     \
		if (why)                                                                                               \
			return why;                                                                                    \
	} while (0)

static const char *nested_unmount(void)
{
	NESTED();
	EXPECT(EINVAL, syscall(SYS_umount2, attempt_masked, DETACH));
	EXPECT(EINVAL, syscall(SYS_umount2, attempt_masked, 0));
	EXPECT(EINVAL, syscall(SYS_umount2, attempt_locked_file, DETACH));
	EXPECT(EINVAL, syscall(SYS_umount2, attempt_locked_folder, DETACH));
	EXPECT(EACCES, open(attempt_masked, O_RDONLY));
	return NULL;
}

static const char *nested_remount(void)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY }, dev = { .attr_clr = MOUNT_ATTR_NODEV };

	NESTED();
	EXPECT(EPERM,
	       syscall(SYS_mount, NULL, attempt_locked_file, NULL, (unsigned long)(MOUNT_REMOUNT | MOUNT_BIND), NULL));
	EXPECT(EPERM,
	       syscall(SYS_mount, NULL, attempt_masked, NULL, (unsigned long)(MOUNT_REMOUNT | MOUNT_BIND), NULL));
	EXPECT(EPERM, syscall(SYS_mount_setattr, AT_FDCWD, attempt_locked_folder, 0, &attr, sizeof(attr)));
	EXPECT(EPERM, syscall(SYS_mount_setattr, AT_FDCWD, attempt_masked, 0, &dev, sizeof(dev)));
	EXPECT(EROFS, open(attempt_locked_file, O_WRONLY));
	return NULL;
}

/* A second mount of the folder, which would show what the mask covers. */
static const char *nested_second_mount(void)
{
	char parent[4096], options[8192];

	parent_of(attempt_masked, parent);
	NESTED();
	if (mkdir("/tmp/isod-second", 0700) < 0)
		return wrong("mkdir");
	EXPECT(EINVAL, syscall(SYS_mount, parent, "/tmp/isod-second", NULL, MOUNT_BIND, NULL));
	EXPECT(EINVAL, syscall(SYS_open_tree, AT_FDCWD, parent, OPEN_TREE_CLONE));
	snprintf(options, sizeof(options), "lowerdir=%s:/tmp/isod-second,userxattr", parent);
	EXPECT2(EINVAL, EPERM, syscall(SYS_mount, "overlay", "/tmp/isod-second", "overlay", 0, options));
	if (syscall(SYS_mount, parent, "/tmp/isod-second", NULL, MOUNT_BIND | MOUNT_REC, NULL) == 0) {
		char path[4096];
		const char *name = strrchr(attempt_masked, '/');

		snprintf(path, sizeof(path), "/tmp/isod-second/%s", name ? name + 1 : attempt_masked);
		EXPECT(EACCES, open(path, O_RDONLY));
		EXPECT(EINVAL, syscall(SYS_umount2, path, DETACH));
	}
	return NULL;
}

static const char *nested_move(void)
{
	NESTED();
	if (mkdir("/tmp/isod-move", 0700) < 0)
		return wrong("mkdir");
	EXPECT(EINVAL, syscall(SYS_move_mount, AT_FDCWD, attempt_locked_folder, AT_FDCWD, "/tmp/isod-move", 0));
	EXPECT2(EBUSY, EXDEV, rename(attempt_locked_folder, ELSEWHERE));
	return NULL;
}

/* A root of its own is no way out, nor is one of the kernel's file systems mounted afresh. */
static const char *nested_root(void)
{
	NESTED();
	if (mkdir("/tmp/isod-root", 0700) < 0 || chroot("/tmp/isod-root") < 0)
		return wrong("chroot");
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return "..";
	EXPECT(ENOENT, open("root/.ssh", O_RDONLY));
	EXPECT(ENOENT, open("etc/shadow", O_RDONLY));
	EXPECT(EPERM, open_by_handle_at(AT_FDCWD, &(struct file_handle){ .handle_bytes = 0 }, O_RDONLY));
	return NULL;
}

const struct attempt attempts_nested[] = {
	{ "nested-unmount", nested_unmount, false },
	{ "nested-remount", nested_remount, false },
	{ "nested-second-mount", nested_second_mount, false },
	{ "nested-move", nested_move, false },
	{ "nested-root", nested_root, false },
	{ NULL, NULL, false },
};
