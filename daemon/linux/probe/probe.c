#include "daemon/linux/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/linux/filter/nft_apply.h"
#include "daemon/linux/probe/probe_late.h"
#include "daemon/linux/probe/probe_rights.h"

/* mount_setattr came in 5.12, its last needed form and cgroup.kill in 5.14. */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 14
/* The first one forbids every rename between folders, which programs live on. */
#define LANDLOCK_ABI_MIN 2

/* Its capabilities are known to be there: what says EPERM then is another layer. */
static const char forbidden[] = "isod has the capability for it, so a system call filter (Seccomp: in /proc/PID/status "
				"of isod) or a security module "
				"(/proc/PID/attr/current) forbids it: let isod run without that one.";

static int unavailable(struct error *e, int err, const char *step, const char *remedy, const char *what)
{
	if (err == EPERM || err == EACCES)
		remedy = forbidden;
	if (err > 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, err, step, remedy, "%s: %s.", what, strerror(err));
	return error_set(e, ERROR_SANDBOX_UNAVAILABLE, 0, step, remedy, "%s.", what);
}

static int check_version(struct error *e)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return unavailable(e, errno, "kernel version", "", "The version of the kernel cannot be read");
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		return 0;
	return error_set(e, ERROR_SANDBOX_UNAVAILABLE, 0, "kernel version", "Boot a newer kernel.",
			 "Linux %d.%d or later is needed; this is %.64s.", KERNEL_MAJOR, KERNEL_MINOR, name.release);
}

/* The call exists if it complains about its arguments. */
static int check_mount_calls(struct error *e)
{
	static const char remedy[] =
		"If isod runs in a container, its system call filter must let the mount calls pass.";

	if (syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) < 0 && (errno == ENOSYS || errno == EPERM))
		return unavailable(e, errno, "mount calls", remedy, "mount_setattr(2) cannot be used");
	if (syscall(SYS_open_tree, -1, "", ~0U) < 0 && (errno == ENOSYS || errno == EPERM))
		return unavailable(e, errno, "mount calls", remedy, "open_tree(2) cannot be used");
	return 0;
}

/* Asking for the file system loads its module where it is one. */
static int check_overlay(struct error *e)
{
	_cleanup_close_ int fd = syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);

	if (fd < 0)
		return unavailable(e, errno, "overlayfs", "Load or build the kernel module overlay.",
				   "The kernel offers no overlay file system");
	return 0;
}

static int check_seccomp(struct error *e)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		return unavailable(e, errno, "seccomp", "Use a kernel with CONFIG_SECCOMP_FILTER.",
				   "The kernel offers no system call filters");
	return 0;
}

static int check_namespaces(struct error *e)
{
	static const char remedy[] =
		"Look at user.max_*_namespaces in /proc/sys, and at the configuration of the kernel.";
	struct mount_attr apart = { .propagation = MS_PRIVATE };

	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		return unavailable(e, errno, "namespaces", remedy, "Mount, pid, ipc and uts namespaces cannot be made");
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &apart, sizeof(apart)) < 0)
		return unavailable(e, errno, "mount propagation", "Run isod outside of this container.",
				   "Mounts of a session cannot be kept apart from the host's");
	if (unshare(CLONE_NEWNET) < 0)
		return unavailable(e, errno, "network namespace", remedy, "A network namespace cannot be made");
	return 0;
}

static int check_loopback(struct error *e)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return unavailable(e, errno, "loopback set-up", "", "lo cannot be brought up in a network namespace");
	return 0;
}

static int check_ruleset(const void *batch, size_t len, struct error *e)
{
	int r = nft_apply(batch, len);

	if (r < 0)
		return unavailable(e, -r, "nftables",
				   "Load or build nf_tables with nft_redir, nft_reject_inet, nft_ct, nft_log and "
				   "nft_limit.",
				   "The ruleset of a session cannot be applied");
	return 0;
}

/* In a child: the namespaces vanish with it, but for the one of the network, which it sends along. */
static void try_namespaces(const void *batch, size_t len, int report)
{
	struct error e = ERROR_INIT;
	int network = -1;

	if (check_namespaces(&e) == 0 && check_loopback(&e) == 0 && check_ruleset(batch, len, &e) == 0)
		network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	_exit(fd_pass_send(report, &e, sizeof(e), &network, network >= 0) < 0);
}

static int check_in_child(const void *batch, size_t len, int *ret_network, struct error *e)
{
	int ends[2];
	struct error answer;
	size_t n_fds = 1;
	ssize_t n;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return unavailable(e, errno, "probe", "", "No socket pair");
	pid = fork();
	if (pid == 0)
		try_namespaces(batch, len, ends[1]);
	fd_close(ends[1]);
	n = pid < 0 ? -errno : fd_pass_receive(ends[0], &answer, sizeof(answer), ret_network, &n_fds);
	fd_close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != sizeof(answer))
		return unavailable(e, n < 0 ? (int)-n : 0, "probe", "", "The process that tries namespaces failed");
	*e = answer;
	return e->code == ERROR_NONE ? 0 : -EOPNOTSUPP;
}

void probe_kernel(const void *batch, size_t len, struct probe *ret)
{
	struct error *e = &ret->unavailable;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	*ret = (struct probe){ .network = -1, .landlock_abi = abi >= LANDLOCK_ABI_MIN ? (int)abi : 0 };
	probe_late(&ret->late_way, &ret->late_reason);
	if (probe_rights_check(PROBE_RIGHTS_SESSION, e) < 0)
		return;
	if (check_version(e) < 0 || check_mount_calls(e) < 0 || check_overlay(e) < 0 || check_seccomp(e) < 0)
		return;
	check_in_child(batch, len, &ret->network, e);
}
