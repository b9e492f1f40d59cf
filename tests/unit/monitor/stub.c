/*
 * Stands in for isod-control, isod-launch and isod-session, by its name, so that isod can be tested alone and be told
 * what its helpers never say. The file "scenario" of the configuration folder names what to do; what happens is
 * written, a line a fact, to the FIFO "result" there. test_isod.c holds the expected lines.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sanitizer.h"
#include "daemon/wire/context.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/plan.h"
#include "daemon/wire/report.h"
#include "tests/unit/monitor/stub_control.h"

/* Helpers get no environment; under a sanitizer they are told its options. */
#ifdef SANITIZED_BUILD
#define HAS_ENVIRONMENT false
#else
#define HAS_ENVIRONMENT (environ[0] != NULL)
#endif

/* ---- isod-launch ---- */

static void report(uint32_t type, int pid, const char *message)
{
	struct launch_report r = { .type = type, .pid = pid };

	if (message)
		error_set(&r.error, ERROR_CANNOT_EXECUTE, ENOEXEC, "exec", "", "%s", message);
	if (write(LAUNCH_FD_REPORT, &r, sizeof(r)) != sizeof(r))
		_exit(95);
}

static int compare_names(const void *a, const void *b)
{
	return atoi(*(char *const *)a) - atoi(*(char *const *)b);
}

/* What every descriptor is, in order, on stdout. */
static void list_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	char *names[64];
	const struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(d) && n < ARRAY_SIZE(names))
			names[n++] = strdup(entry->d_name);
	qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		int flags = fcntl(atoi(names[i]), F_GETFL);

		fstat(atoi(names[i]), &st);
		if (atoi(names[i]) >= LAUNCH_FD_CGROUP)
			dprintf(1, "%s\n",
				S_ISREG(st.st_mode) && (flags & O_ACCMODE) == O_WRONLY ? "cgroup"
				: S_ISDIR(st.st_mode) && flags & O_PATH                ? "cgroup"
										       : "?");
		else
			dprintf(1, "%s %s%s\n", names[i],
				S_ISREG(st.st_mode)    ? "memory"
				: S_ISFIFO(st.st_mode) ? "pipe"
				: S_ISSOCK(st.st_mode) ? "socket"
				: S_ISDIR(st.st_mode)  ? "folder"
				: st.st_rdev == 0x103  ? "null"
						       : "?",
				flags & O_PATH ? " path" : "");
	}
	closedir(d);
}

/* pid 1 of the session: a child of isod, as the real one. */
static pid_t make_pid1(void)
{
	return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
}

static int pid1_sleeps(void)
{
	char byte;

	close(LAUNCH_FD_REPORT);
	return read(LAUNCH_FD_LINK, &byte, 1) != 0;
}

static int launch(void)
{
	const struct launch_context *context;
	struct plan plan;
	const void *data;
	static void *block; /* static: the plan lives as long as the process, which is no leak */
	size_t len;
	const char *what;
	pid_t pid;

	if (fd_sealed_map(LAUNCH_FD_PLAN, LIMIT_PLAN, &data, &len) < 0 ||
	    plan_decode(data, len, &plan, &block, NULL) < 0)
		return 96;
	if (fd_sealed_map(LAUNCH_FD_CONTEXT, LIMIT_PLAN, &data, &len) < 0)
		return 97;
	context = data;
	if (context->size != len || context->uid != plan.uid || HAS_ENVIRONMENT)
		return 98;
	what = plan.argv[0];
	if (strcmp(what, "die") == 0)
		return 3;
	/* Until isod kills it. */
	while (strcmp(what, "hang") == 0)
		pause();
	if (strcmp(what, "not-ours") == 0) {
		report(REPORT_PID1, getppid(), NULL);
		return 0;
	}
	if (strcmp(what, "fail") == 0) {
		report(REPORT_FAILED, 0, "This is no program.");
		return 1;
	}
	if (strcmp(what, "list") == 0) {
		list_descriptors();
		dup2(0, 1);
		dup2(0, 2);
	}
	pid = make_pid1();
	if (pid == 0)
		_exit(strcmp(what, "quick") == 0 ? 0 : pid1_sleeps());
	report(REPORT_PID1, pid, NULL);
	if (strcmp(what, "fail-late") == 0)
		report(REPORT_FAILED, 0, "This went wrong late.");
	return 0;
}

/* ---- isod-session ---- */

static int session(void)
{
	const struct session_context *context;
	const void *data;
	size_t len;
	struct pollfd ends[] = { { SESSION_FD_CONTROL, POLLIN, 0 }, { SESSION_FD_LINK, POLLIN, 0 } };

	if (fd_sealed_map(SESSION_FD_EGRESS, 4096, &data, &len) < 0 || memcmp(data, "die", len) == 0)
		return 5;
	if (fd_sealed_map(SESSION_FD_CONTEXT, 4096, &data, &len) < 0)
		return 6;
	context = data;
	if (context->size != sizeof(*context) || strncmp(context->id, STUB_ID, ISOD_ID_LEN - 1) != 0 || HAS_ENVIRONMENT)
		return 7;
	/* Both are sockets whose other end says nothing: either one's end is the end. */
	poll(ends, 2, -1);
	return 0;
}

int main(int argc, char **argv)
{
	if (strcmp(argv[0], "isod-control") == 0)
		return stub_control(argc, argv);
	return strcmp(argv[0], "isod-launch") == 0 ? launch() : session();
}
