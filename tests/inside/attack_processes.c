/* pid 1 of the session, which holds the link to isod-session, and processes of the host. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

static char detail[256];

ATTEMPT(trace_attach, ptrace(PTRACE_ATTACH, 1, NULL, NULL))
ATTEMPT(trace_seize, ptrace(PTRACE_SEIZE, 1, NULL, NULL))
ATTEMPT(compare, syscall(SYS_kcmp, getpid(), 1, 0 /* KCMP_FILE */, 0, 0))

static const char *signals(void)
{
	static const int list[] = { 0, SIGTERM, SIGCHLD, SIGSTOP, SIGKILL };

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (!REFUSED(kill(1, list[i])) || !REFUSED(syscall(SYS_tgkill, 1, 1, list[i])))
			return "a signal was sent";
	return NULL;
}

static const char *limit(void)
{
	struct rlimit none = { 0, 0 };

	if (!REFUSED(prlimit(1, RLIMIT_NOFILE, NULL, &none)))
		return "its limits were read";
	none.rlim_cur = none.rlim_max = 3;
	return REFUSED(prlimit(1, RLIMIT_NOFILE, &none, NULL)) ? NULL : "its limits were set";
}

static const char *schedule(void)
{
	struct sched_param none = { 0 };
	uint64_t mask[16] = { 1 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t times[3];
	} attributes = { .size = sizeof(attributes) };

	if (!REFUSED(setpriority(PRIO_PROCESS, 1, 19)) || !REFUSED(setpriority(PRIO_PGRP, 1, 19)))
		return "its priority was set";
	/* By its real uid, whichever of the low ones that is. */
	for (unsigned uid = 1; uid < 1000; uid++)
		if (uid != getuid() && !REFUSED(setpriority(PRIO_USER, uid, 19)))
			return "its priority was set with that of its uid";
	if (!REFUSED(syscall(SYS_sched_setaffinity, 1, sizeof(mask), mask)))
		return "its processors were set";
	if (!REFUSED(syscall(SYS_sched_setparam, 1, &none)) || !REFUSED(syscall(SYS_sched_setattr, 1, &attributes, 0)))
		return "its scheduling was set";
	return REFUSED(syscall(SYS_sched_setscheduler, 1, SCHED_OTHER, &none)) ? NULL : "its policy was set";
}

static const char *memory(void)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)0x400000, 1 };

	if (!REFUSED(process_vm_readv(1, &local, 1, &remote, 1, 0)))
		return "its memory was read";
	return REFUSED(process_vm_writev(1, &local, 1, &remote, 1, 0)) ? NULL : "its memory was written";
}

static const char *descriptors(void)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (fd < 0)
		return NULL;
	if (!REFUSED(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0)))
		return "a signal was sent by pidfd";
	for (int i = 0; i < 16; i++)
		if (!REFUSED(syscall(SYS_pidfd_getfd, fd, i, 0)))
			return "a descriptor was taken";
	return NULL;
}

/* Some files open and then refuse to be read; a folder is read by listing it. */
static bool can_read(const char *path)
{
	char data[512];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return false;
	if (read(fd, data, 1) > 0)
		return true;
	return errno == EISDIR && syscall(SYS_getdents64, fd, data, sizeof(data)) > 0;
}

static const char *proc_files(void)
{
	static const char *const files[] = { "environ",  "mem",     "maps",  "smaps", "pagemap",   "auxv",
					     "stack",    "syscall", "io",    "fd/0",  "fd/3",      "fd/6",
					     "root/etc", "cwd/etc", "exe",   "fd",    "map_files", "personality",
					     "ns/mnt",   "ns/user", "ns/net" };
	char path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/proc/1/%s", files[i]);
		if (!can_read(path))
			continue;
		snprintf(detail, sizeof(detail), "%s was read", path);
		return detail;
	}
	return NULL;
}

static const char *proc_links(void)
{
	static const char *const links[] = { "root", "cwd", "exe", "fd/0", "fd/6", "ns/mnt" };
	char path[64], target[256];

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(path, sizeof(path), "/proc/1/%s", links[i]);
		if (REFUSED(readlink(path, target, sizeof(target))))
			continue;
		snprintf(detail, sizeof(detail), "%s was read", path);
		return detail;
	}
	return NULL;
}

/* Every process that can be seen must be one of the session: pid 1, the program, and what we forked. */
static const char *host_processes(void)
{
	DIR *dir = opendir("/proc");
	int count = 0;

	if (!dir)
		return NULL;
	for (struct dirent *d; (d = readdir(dir));)
		count += isdigit((unsigned char)d->d_name[0]) != 0;
	closedir(dir);
	return count <= 16 ? NULL : "processes of others are visible";
}

static const char *inherited_environment(void)
{
	static const char *const names[] = { "LD_PRELOAD", "LD_LIBRARY_PATH", "NOTIFY_SOCKET",
					     "LISTEN_FDS", "SSH_AUTH_SOCK",   "DBUS_SESSION_BUS_ADDRESS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			return names[i];
	return NULL;
}

const struct attempt attempts_processes[] = {
	{ "ptrace-attach", trace_attach, false },
	{ "ptrace-seize", trace_seize, false },
	{ "kcmp", compare, false },
	{ "kill-pid1", signals, false },
	{ "prlimit-pid1", limit, false },
	{ "schedule-pid1", schedule, false },
	{ "memory-pid1", memory, false },
	{ "pidfd-pid1", descriptors, false },
	{ "proc-files-pid1", proc_files, false },
	{ "proc-links-pid1", proc_links, false },
	{ "host-processes", host_processes, false },
	{ "environment", inherited_environment, false },
	{ NULL, NULL, false },
};
