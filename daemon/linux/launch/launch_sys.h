#ifndef ISOD_LINUX_LAUNCH_SYS_H
#define ISOD_LINUX_LAUNCH_SYS_H
/*
 * The mount calls that the C library of a supported system may not have yet (glibc 2.35 has none of them), straight
 * from the kernel's own headers; <sys/mount.h> clashes with those and is not used. All return a value or -errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAUNCH_SYS_DETACH 2   /* MNT_DETACH */
#define LAUNCH_SYS_NOFOLLOW 8 /* UMOUNT_NOFOLLOW */

static inline int launch_sys_result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static inline int launch_sys_open_tree(int dir, const char *path, unsigned flags)
{
	return launch_sys_result(syscall(SYS_open_tree, dir, path, flags));
}

/* Attaches the detached mount at the very place that target is open on. */
static inline int launch_sys_move_mount(int mount, int target)
{
	return launch_sys_result(
		syscall(SYS_move_mount, mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}

static inline int launch_sys_fsopen(const char *type)
{
	return launch_sys_result(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}

static inline int launch_sys_fsconfig_string(int fs, const char *key, const char *value)
{
	return launch_sys_result(syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0));
}

static inline int launch_sys_fsconfig_flag(int fs, const char *key)
{
	return launch_sys_result(syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, key, NULL, 0));
}

static inline int launch_sys_fsconfig_create(int fs)
{
	return launch_sys_result(syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
}

/* attributes: MOUNT_ATTR_* */
static inline int launch_sys_fsmount(int fs, unsigned attributes)
{
	return launch_sys_result(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes));
}

/* flags: AT_RECURSIVE or 0; propagation: MS_PRIVATE or 0 */
static inline int launch_sys_mount_set(int mount, unsigned flags, uint64_t attributes, uint64_t propagation)
{
	struct mount_attr attr = { .attr_set = attributes, .propagation = propagation };

	return launch_sys_result(syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr)));
}

/*
 * A ".." beneath a root is refused with EAGAIN where anything on the machine was mounted or renamed meanwhile, which
 * says nothing about this path: openat2(2) leaves it to the caller to try again. Bounded, since somebody may rename for
 * ever.
 */
#define LAUNCH_SYS_OPENAT2_TRIES 128

static inline int launch_sys_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .resolve = resolve };
	int r = -EAGAIN;

	for (int i = 0; i < LAUNCH_SYS_OPENAT2_TRIES && r == -EAGAIN; i++)
		r = launch_sys_result(syscall(SYS_openat2, dir, path, &how, sizeof(how)));
	return r;
}

/* group: the folder of a control group of v2 to be made in, or -1. */
static inline pid_t launch_sys_clone3_into(uint64_t flags, int group)
{
	struct clone_args args = { .flags = flags | (group < 0 ? 0 : CLONE_INTO_CGROUP),
				   .cgroup = group < 0 ? 0 : (uint64_t)group };

	return launch_sys_result(syscall(SYS_clone3, &args, sizeof(args)));
}

/* fork(2) into that group. */
static inline pid_t launch_sys_fork_into(int group)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group };

	return launch_sys_result(syscall(SYS_clone3, &args, sizeof(args)));
}

static inline pid_t launch_sys_clone3(uint64_t flags)
{
	return launch_sys_clone3_into(flags, -1);
}

static inline int launch_sys_pivot_root(const char *new_root, const char *put_old)
{
	return launch_sys_result(syscall(SYS_pivot_root, new_root, put_old));
}

static inline int launch_sys_umount(const char *path, int flags)
{
	return launch_sys_result(syscall(SYS_umount2, path, flags));
}

#endif
