/* Files and devices of the host and of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

static char detail[256];

/* Opens none of the paths with those flags; a file that does not exist is as good as one that is refused. */
static const char *open_none(const char *const *paths, int flags)
{
	for (; *paths; paths++) {
		if (REFUSED(open(*paths, flags | O_CLOEXEC | O_NOCTTY, 0600)))
			continue;
		snprintf(detail, sizeof(detail), "%s was opened", *paths);
		return detail;
	}
	return NULL;
}

#define PATHS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *kernel_settings(void)
{
	return open_none(PATHS("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
			       "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
			       "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces",
			       "/proc/sys/fs/binfmt_misc/register"),
			 O_WRONLY);
}

static const char *kernel_triggers(void)
{
	return open_none(PATHS("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/mtrr",
			       "/proc/acpi/wakeup", "/proc/pressure/memory", "/proc/1/oom_score_adj",
			       "/proc/dynamic_debug/control", "/proc/latency_stats"),
			 O_WRONLY);
}

static const char *kernel_memory(void)
{
	return open_none(PATHS("/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/timer_list", "/proc/sched_debug",
			       "/proc/kallsyms", "/proc/vmallocinfo", "/dev/mem", "/dev/kmem", "/dev/port",
			       "/dev/kmsg"),
			 O_RDONLY);
}

static const char *devices(void)
{
	return open_none(PATHS("/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/kvm", "/dev/fuse", "/dev/net/tun",
			       "/dev/tty1", "/dev/console", "/dev/loop-control", "/dev/vsock", "/dev/uinput"),
			 O_RDWR);
}

static const char *sysfs(void)
{
	return open_none(PATHS("/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state",
			       "/sys/class/net/lo/mtu", "/sys/fs/cgroup/cgroup.procs",
			       "/sys/fs/cgroup/memory/cgroup.procs", "/sys/kernel/uevent_helper"),
			 O_WRONLY);
}

static const char *system_files(void)
{
	return open_none(PATHS("/usr/isod-test", "/usr/bin/isod-test", "/etc/isod-test", "/etc/passwd", "/bin/sh",
			       "/isod-test", "/dev/isod-test", "/home/isod-test", "/lib/isod-test", "/sys/isod-test",
			       "/proc/isod-test"),
			 O_WRONLY | O_CREAT);
}

static const char *secrets(void)
{
	return open_none(PATHS("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh/id_rsa",
			       "/run/isod/isod.sock", "/var/run/docker.sock", "/run/systemd/private"),
			 O_RDONLY);
}

static const char *replace_system(void)
{
	if (!REFUSED(rename("/usr/bin", "/usr/bin-moved")) || !REFUSED(unlink("/bin")))
		return "a system folder was moved";
	return REFUSED(symlink("/tmp", "/isod-test")) && REFUSED(mkdir("/isod-test", 0700)) ? NULL
											    : "the root is writable";
}

static const char *device_nodes(void)
{
	if (!REFUSED(mknod("/tmp/isod-block", S_IFBLK | 0666, makedev(8, 0))))
		return "a block device was made";
	return REFUSED(mknod("/tmp/isod-char", S_IFCHR | 0666, makedev(1, 1))) ? NULL : "a device was made";
}

/* A set-uid file must mean nothing anywhere that one could lie. */
static const char *set_uid(void)
{
	static const char *const mounts[] = { "/", "/usr", "/tmp", "/dev", "/proc", "/sys", "/etc", ".", NULL };

	for (const char *const *m = mounts; *m; m++) {
		struct statvfs vfs;

		if (statvfs(*m, &vfs) < 0 || vfs.f_flag & ST_NOSUID)
			continue;
		snprintf(detail, sizeof(detail), "%s is not nosuid", *m);
		return detail;
	}
	return NULL;
}

static const char *reopen_stdin(void)
{
	struct stat st;

	if (fstat(0, &st) < 0 || S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		return NULL;
	return REFUSED(open("/proc/self/fd/0", O_WRONLY)) ? NULL : "stdin was opened for writing";
}

static const char *stdio_folder(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (!REFUSED(openat(fd, "..", O_RDONLY | O_DIRECTORY)))
			return "a descriptor of stdio is a folder";
	return NULL;
}

static const char *oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	return fd < 0 || REFUSED(write(fd, "-1000", 5)) ? NULL : "it can no longer be killed for its memory";
}

/* Typing into a terminal, on a pty of our own: the refusal must come from the filter. */
static const char *terminal(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	char byte = 'x';

	if (fd < 0)
		return NULL;
	if (!REFUSED_WITH(EPERM, ioctl(fd, TIOCSTI, &byte)))
		return "TIOCSTI is not refused";
	return REFUSED_WITH(EPERM, ioctl(fd, TIOCLINUX, &byte)) ? NULL : "TIOCLINUX is not refused";
}

static const char *cwd_outside(void)
{
	char path[4096];

	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	return getcwd(path, sizeof(path)) && strcmp(path, "/") == 0 ? NULL : "the way up does not end at the root";
}

const struct attempt attempts_files[] = {
	{ "kernel-settings", kernel_settings, false },
	{ "kernel-triggers", kernel_triggers, false },
	{ "kernel-memory", kernel_memory, false },
	{ "devices", devices, false },
	{ "sysfs", sysfs, false },
	{ "system-files", system_files, false },
	{ "secrets", secrets, false },
	{ "replace-system", replace_system, false },
	{ "mknod", device_nodes, false },
	{ "nosuid", set_uid, false },
	{ "reopen-stdin", reopen_stdin, false },
	{ "stdio-folder", stdio_folder, false },
	{ "oom-score", oom_score, false },
	{ "terminal-input", terminal, false },
	{ "cwd-outside", cwd_outside, false },
	{ NULL, NULL, false },
};
