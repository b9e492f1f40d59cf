#include "daemon/linux/launch/launch_who.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
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

struct search {
	const struct launch_who *whose;
	size_t n;
	size_t open;          /* not found yet */
	unsigned descriptors; /* that may still be looked at */
};

static bool is_open(const struct launch_who *who)
{
	return who->inode != 0 && *who->pid == 0;
}

static void name_of(int proc, const char *pid, char *text, size_t size);

static void found(struct search *s, size_t i, int proc, const char *pid)
{
	const struct launch_who *who = &s->whose[i];

	*who->pid = (int32_t)strtol(pid, NULL, 10);
	s->open--;
	/* Most are of one program: its name is read once. */
	for (size_t before = 0; before < i; before++) {
		if (*s->whose[before].pid != *who->pid || s->whose[before].size != who->size)
			continue;
		memcpy(who->text, s->whose[before].text, who->size);
		return;
	}
	name_of(proc, pid, who->text, who->size);
}

/* Which of the sockets /proc/PID/fd has. */
static void look_into(struct search *s, int proc, const char *pid)
{
	static const char socket_is[] = "socket:[";
	char path[300], link[64];
	_cleanup_closedir_ DIR *dir = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		fd_close(fd);
		return;
	}
	for (struct dirent *d; s->open > 0 && s->descriptors > 0 && (d = readdir(dir));) {
		ssize_t n = readlinkat(fd, d->d_name, link, sizeof(link) - 1);
		uint64_t inode;

		s->descriptors--;
		if (n <= 0)
			continue;
		link[n] = '\0';
		if (strncmp(link, socket_is, sizeof(socket_is) - 1) != 0)
			continue;
		inode = strtoull(link + sizeof(socket_is) - 1, NULL, 10);
		for (size_t i = 0; i < s->n; i++)
			if (s->whose[i].inode == inode && is_open(&s->whose[i]))
				found(s, i, proc, pid);
	}
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

static void find_owners(struct search *s)
{
	unsigned processes = PROCESSES_MAX;
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	char only[NAME_MAX + 1];

	if (!dir)
		return;
	if (is_alone(dir, only, sizeof(only))) {
		for (size_t i = 0; i < s->n; i++)
			if (is_open(&s->whose[i]))
				found(s, i, dirfd(dir), only);
		return;
	}
	for (struct dirent *d; processes > 0 && s->open > 0 && s->descriptors > 0 && (d = readdir(dir));) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		processes--;
		look_into(s, dirfd(dir), d->d_name);
	}
}

void launch_who_find(const struct launch_who *whose, size_t n)
{
	struct search s = { .whose = whose, .n = n, .descriptors = DESCRIPTORS_MAX };

	for (size_t i = 0; i < n; i++) {
		*whose[i].pid = 0;
		whose[i].text[0] = '\0';
		s.open += whose[i].inode != 0;
	}
	if (s.open > 0)
		find_owners(&s);
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
