/* System calls that change the machine, the namespaces or the process's own rights. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

#define NO_SUCH_CALL 900
#define X32_GETPID (0x40000000 | 39)
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

ATTEMPT(mount_tmpfs, syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL))
ATTEMPT(mount_bind, syscall(SYS_mount, "/usr", "/tmp", NULL, MS_BIND, NULL))
ATTEMPT(remount_writable, syscall(SYS_mount, NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL))
ATTEMPT(unmount_proc_sys, syscall(SYS_umount2, "/proc/sys", 2))
ATTEMPT(new_filesystem, syscall(SYS_fsopen, "tmpfs", 0))
ATTEMPT(clone_tree, syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE))
ATTEMPT(move_mount, syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0))
ATTEMPT(pivot_root, syscall(SYS_pivot_root, "/tmp", "/tmp"))
ATTEMPT(change_root, syscall(SYS_chroot, "/tmp"))
ATTEMPT(unshare_user, unshare(CLONE_NEWUSER))
ATTEMPT(unshare_mounts, unshare(CLONE_NEWNS))
ATTEMPT(unshare_pid, unshare(CLONE_NEWPID))
ATTEMPT(unshare_net, unshare(CLONE_NEWNET))
ATTEMPT(unshare_ipc, unshare(CLONE_NEWIPC))
ATTEMPT(unshare_uts, unshare(CLONE_NEWUTS))
ATTEMPT(unshare_cgroup, unshare(CLONE_NEWCGROUP))
ATTEMPT(unshare_time, unshare(CLONE_NEWTIME))

static const char *mount_attributes(void)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return REFUSED(syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &attr, sizeof(attr))) ? NULL
											     : "/usr is writable now";
}

static const char *clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0)
		_exit(0);
	return pid < 0 ? NULL : "clone made a user namespace";
}

static const char *clone3_user(void)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid < 0 ? NULL : "clone3 made a user namespace";
}

static const char *enter_namespace(void)
{
	int fd = open("/proc/self/ns/user", O_RDONLY);

	return fd < 0 || REFUSED(setns(fd, 0)) ? NULL : "setns succeeded";
}

static const char *io_uring(void)
{
	char params[256] = { 0 };

	/* Node and Bun probe it: ENOSYS is the answer that makes them fall back. */
	return REFUSED_WITH(ENOSYS, syscall(SYS_io_uring_setup, 8, params)) ? NULL : "not ENOSYS";
}

static const char *unknown_call(void)
{
	return REFUSED_WITH(ENOSYS, syscall(NO_SUCH_CALL)) ? NULL : "not ENOSYS";
}

static const char *zeroed(long number, long first)
{
	static char zeroes[256];

	return REFUSED(syscall(number, first, zeroes, sizeof(zeroes), 0, 0)) ? NULL : "the call succeeded";
}

static const char *bpf(void)
{
	return zeroed(SYS_bpf, 0);
}

static const char *perf(void)
{
	uint32_t attributes[32] = { 1 /* software */, 128, 0 };

	return REFUSED(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0)) ? NULL : "a counter was opened";
}

ATTEMPT(user_faults, syscall(SYS_userfaultfd, 0))
ATTEMPT(key_control, syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 0))
ATTEMPT(key_add, syscall(SYS_add_key, "user", "isod-test", "x", 1, -4))
ATTEMPT(key_request, syscall(SYS_request_key, "user", "isod-test", NULL, -4))
ATTEMPT(module_load, syscall(SYS_init_module, "", 0, ""))
ATTEMPT(module_load_file, syscall(SYS_finit_module, 0, "", 0))
ATTEMPT(module_remove, syscall(SYS_delete_module, "isod-none", O_NONBLOCK))
ATTEMPT(kexec, syscall(SYS_kexec_load, 0, 0, NULL, 0))
ATTEMPT(kernel_log, syscall(SYS_syslog, 3, (char[64]){ 0 }, 64))
ATTEMPT(host_name, sethostname("x", 1))
ATTEMPT(swap, syscall(SYS_swapoff, "/tmp"))
ATTEMPT(accounting, acct("/tmp"))
ATTEMPT(fanotify, syscall(SYS_fanotify_init, 0, 0))
ATTEMPT(handle, syscall(SYS_open_by_handle_at, AT_FDCWD, (uint32_t[4]){ 8, 1, 2, 0 }, O_RDONLY))
ATTEMPT(quota, syscall(SYS_quotactl, 0x800001 << 8, NULL, 0, NULL))
#ifdef SYS_iopl
ATTEMPT(io_ports, syscall(SYS_iopl, 3))
#endif

static const char *capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return "capget failed";
	for (int i = 0; i < 2; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return "a capability is held";
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) > 0)
			return "the bounding set is not empty";
	data[0].effective = data[0].permitted = 1U << CAP_SYS_CHROOT;
	return REFUSED(syscall(SYS_capset, &header, data)) ? NULL : "a capability was taken";
}

static const char *become_root(void)
{
	if (getuid() == 0)
		return NULL;
	return REFUSED(setuid(0)) && REFUSED(setresuid(0, 0, 0)) ? NULL : "uid 0 was taken";
}

static const char *other_user(void)
{
	return REFUSED(setuid(getuid() + 1)) && REFUSED(setgid(getgid() + 1)) ? NULL : "another id was taken";
}

static const char *groups(void)
{
	gid_t group = 0;

	return REFUSED(setgroups(1, &group)) ? NULL : "a group was taken";
}

static const char *privileges(void)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return "no_new_privs is not set";
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		return "no seccomp filter is loaded";
	return REFUSED(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0)) ? NULL : "the secure bits were changed";
}

static const char *limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_max != 0)
		return "core dumps can be made";
	limit.rlim_cur = limit.rlim_max = 1;
	if (!REFUSED(setrlimit(RLIMIT_CORE, &limit)))
		return "a hard limit was raised";
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return "getrlimit failed";
	limit.rlim_max++;
	return REFUSED(setrlimit(RLIMIT_NOFILE, &limit)) ? NULL : "a hard limit was raised";
}

#if defined(__x86_64__)
static const char *i386_call(void)
{
	long r;

	/* getpid by the 32-bit table, where the numbers mean other things than the filter's. */
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return r > 0 ? "a 32-bit call succeeded" : NULL;
}

static const char *x32_call(void)
{
	return REFUSED_WITH(ENOSYS, syscall(X32_GETPID)) ? NULL : "not ENOSYS";
}
#endif

const struct attempt attempts_kernel[] = {
	{ "mount", mount_tmpfs, false },
	{ "mount-bind", mount_bind, false },
	{ "mount-remount", remount_writable, false },
	{ "umount", unmount_proc_sys, false },
	{ "fsopen", new_filesystem, false },
	{ "open-tree", clone_tree, false },
	{ "move-mount", move_mount, false },
	{ "mount-setattr", mount_attributes, false },
	{ "pivot-root", pivot_root, false },
	{ "chroot", change_root, false },
	{ "unshare-user", unshare_user, false },
	{ "unshare-mount", unshare_mounts, false },
	{ "unshare-pid", unshare_pid, false },
	{ "unshare-net", unshare_net, false },
	{ "unshare-ipc", unshare_ipc, false },
	{ "unshare-uts", unshare_uts, false },
	{ "unshare-cgroup", unshare_cgroup, false },
	{ "unshare-time", unshare_time, false },
	{ "clone-user", clone_user, false },
	{ "clone3-user", clone3_user, false },
	{ "setns", enter_namespace, false },
	{ "io-uring", io_uring, false },
	{ "unknown-call", unknown_call, false },
	{ "bpf", bpf, false },
	{ "perf", perf, false },
	{ "userfaultfd", user_faults, false },
	{ "keyctl", key_control, false },
	{ "add-key", key_add, false },
	{ "request-key", key_request, false },
	{ "init-module", module_load, false },
	{ "finit-module", module_load_file, false },
	{ "delete-module", module_remove, false },
	{ "kexec", kexec, false },
	{ "syslog", kernel_log, false },
	{ "sethostname", host_name, false },
	{ "swapoff", swap, false },
	{ "acct", accounting, false },
	{ "fanotify", fanotify, false },
	{ "open-by-handle", handle, false },
	{ "quotactl", quota, false },
#ifdef SYS_iopl
	{ "iopl", io_ports, false },
#endif
	{ "capabilities", capabilities, false },
	{ "setuid-root", become_root, false },
	{ "setuid-other", other_user, false },
	{ "setgroups", groups, false },
	{ "privileges", privileges, false },
	{ "limits", limits, false },
#if defined(__x86_64__)
	{ "i386-call", i386_call, true },
	{ "x32-call", x32_call, false },
#endif
	{ NULL, NULL, false },
};
