#include "daemon/linux/watch/launch_late_task.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* How often a thread may still be found running: at once, and after a millisecond each. */
#define RUNNING_AT_ONCE 20
#define RUNNING_TRIES 40

/* Where the flags are among a call's arguments. creat(2) has none: it only writes. */
static const struct {
	long number;
	unsigned flags;
} opens[] = {
	{ SYS_openat, 2 },
#ifdef SYS_open
	{ SYS_open, 1 },
#endif
};

bool launch_late_task_writes(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text)
		return false;
#ifdef SYS_creat
	if (number == SYS_creat)
		return *end == ' ';
#endif
	for (size_t i = 0; i < ARRAY_SIZE(opens); i++) {
		unsigned long value = 0;

		if (opens[i].number != number)
			continue;
		for (unsigned k = 0; k <= opens[i].flags; k++) {
			char *from = end;

			value = strtoul(from, &end, 16);
			if (end == from)
				return false;
		}
		/* Not O_RDWR, even of a file that this very call made: the host may write a secret into it later. */
		return (value & O_ACCMODE) == O_WRONLY;
	}
	return false;
}

/* The beginning of /proc/TID/name as text. */
static bool read_text(pid_t thread, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", thread, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = fd_read_full(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The question is asked a moment before its thread lies down to wait for the answer: until then it counts as running.
 */
static bool is_running(const char *text)
{
	return strncmp(text, "running", 7) == 0;
}

bool launch_late_task_only_writes(pid_t thread)
{
	char text[256];

	for (int i = 0; i < RUNNING_TRIES; i++) {
		if (thread <= 0 || !read_text(thread, "syscall", text, sizeof(text)))
			return false;
		if (!is_running(text))
			return launch_late_task_writes(text);
		/* Another processor has it, or ours must be left to it. */
		if (i >= RUNNING_AT_ONCE)
			(void)poll(NULL, 0, 1);
	}
	return false;
}

pid_t launch_late_task_process(pid_t thread)
{
	char text[512];
	const char *line;
	long process;

	if (thread <= 0 || !read_text(thread, "status", text, sizeof(text)))
		return thread;
	line = strstr(text, "\nTgid:");
	process = line ? strtol(line + 6, NULL, 10) : 0;
	return process > 0 ? (pid_t)process : thread;
}
