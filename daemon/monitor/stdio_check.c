#include "daemon/monitor/stdio_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a folder";
	case S_IFCHR:
		return "a terminal or another device";
	case S_IFBLK:
		return "a block device";
	case S_IFSOCK:
		return "a socket that leads to some service";
	default:
		return "of a kind without a name";
	}
}

/* socketpair(2) gives neither end a name; bind and connect always leave one on one side. */
static bool is_nameless_pair(int fd)
{
	struct sockaddr_un own, other;
	socklen_t own_len = sizeof(own), other_len = sizeof(other), len = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
	       getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&other, &other_len) == 0 && own.sun_family == AF_UNIX &&
	       own_len == offsetof(struct sockaddr_un, sun_path) && other_len == own_len;
}

static bool may_pass(int fd, const struct stat *st)
{
	if (S_ISFIFO(st->st_mode))
		return true;
	if (S_ISSOCK(st->st_mode))
		return is_nameless_pair(fd);
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

int stdio_check(int fd, const char *name, struct error *e)
{
	static const char remedy[] = "Let isoctl relay it, or put `cat` and a pipe in between.";
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return error_set(e, ERROR_INVALID, errno, "stdio", "", "%s cannot be looked at.", name);
	if (flags & O_PATH)
		return error_set(e, ERROR_REFUSED, EPERM, "stdio", remedy, "%s is a path and not an open stream.",
				 name);
	if (!may_pass(fd, &st))
		return error_set(e, ERROR_REFUSED, EPERM, "stdio", remedy,
				 "%s is %s; from inside it could be opened again with other rights.", name,
				 kind_of(st.st_mode));
	return 0;
}
