#include "daemon/linux/launch/launch_who.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

/* A session that has more than that gets no name for its connections. */
#define PROCESSES_MAX 4096
#define DESCRIPTORS_MAX 65536

/* True where /proc/PID/fd has the socket. *budget counts the descriptors looked at. */
static bool has_socket(int proc, const char *pid, const char *wanted, unsigned *budget)
{
	char path[300], link[64];
	_cleanup_closedir_ DIR *dir = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir) {
		fd_close(fd);
		return false;
	}
	for (struct dirent *d; *budget > 0 && (d = readdir(dir));) {
		ssize_t n = readlinkat(fd, d->d_name, link, sizeof(link) - 1);

		(*budget)--;
		if (n <= 0)
			continue;
		link[n] = '\0';
		if (strcmp(link, wanted) == 0)
			return true;
	}
	return false;
}

void launch_who_escape(const char *name, char *text, size_t size)
{
	size_t len = strlen(name), at = 0;

	if (len >= size)
		name += len - (size - 1);
	for (; name[at]; at++)
		text[at] = name[at] >= 0x20 && name[at] < 0x7f ? name[at] : '?';
	text[at] = '\0';
}

static void name_of(int proc, const char *pid, char *text, size_t size)
{
	char path[300], name[LIMIT_PATH];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/exe", pid);
	n = readlinkat(proc, path, name, sizeof(name) - 1);
	if (n <= 0) {
		snprintf(path, sizeof(path), "%s/comm", pid);
		fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : fd_read_full(fd, name, sizeof(name) - 1);
		if (n > 0 && name[n - 1] == '\n')
			n--;
	}
	name[n > 0 ? n : 0] = '\0';
	launch_who_escape(name, text, size);
}

/* The one process beside pid 1, if there is only one: then its descriptors need not be looked through. */
static bool is_alone(DIR *proc, char *pid, size_t size)
{
	unsigned n = 0;

	for (struct dirent *d; n < 2 && (d = readdir(proc));)
		if (isdigit((unsigned char)d->d_name[0]) && strcmp(d->d_name, "1") != 0 && ++n == 1)
			snprintf(pid, size, "%s", d->d_name);
	rewinddir(proc);
	return n == 1;
}

static void find_owner(uint64_t inode, int32_t *ret_pid, char *text, size_t size)
{
	unsigned processes = PROCESSES_MAX, descriptors = DESCRIPTORS_MAX;
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	char wanted[64], only[NAME_MAX + 1];
	bool alone;

	if (!dir)
		return;
	alone = is_alone(dir, only, sizeof(only));
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
	for (struct dirent *d; processes > 0 && descriptors > 0 && (d = readdir(dir));) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		processes--;
		if (alone ? strcmp(d->d_name, only) != 0 : !has_socket(dirfd(dir), d->d_name, wanted, &descriptors))
			continue;
		*ret_pid = (int32_t)strtol(d->d_name, NULL, 10);
		name_of(dirfd(dir), d->d_name, text, size);
		return;
	}
}

void launch_who_find(uint64_t inode, int32_t *ret_pid, char *text, size_t size)
{
	*ret_pid = 0;
	text[0] = '\0';
	if (inode != 0)
		find_owner(inode, ret_pid, text, size);
}

void launch_who_program(pid_t pid, char *text, size_t size)
{
	_cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[16];

	text[0] = '\0';
	snprintf(name, sizeof(name), "%d", pid);
	if (proc >= 0)
		name_of(proc, name, text, size);
}
