#include "daemon/monitor/stdio_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"

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
		return "a socket, over which descriptors could come";
	case S_IFIFO:
		return "a fifo that has a name";
	default:
		return "of a kind without a name";
	}
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
	if (!fd_is_plain_stream(fd))
		return error_set(e, ERROR_REFUSED, EPERM, "stdio", remedy,
				 "%s is %s; from inside it could be opened again with other rights.", name,
				 kind_of(st.st_mode));
	return 0;
}
