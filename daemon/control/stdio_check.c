#include "daemon/control/stdio_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* Neither end has an address: nobody can connect to it, and it leads to no service. */
static bool is_own_pair(int fd)
{
	struct sockaddr_un own, peer;
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer), size = sizeof(int);
	int domain = 0, type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain != AF_UNIX)
		return false;
	size = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM)
		return false;
	if (getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 || own_len > sizeof(sa_family_t))
		return false;
	/* The other end may be closed already. */
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return false;
	return peer_len <= sizeof(sa_family_t);
}

int stdio_check(const int *fds, size_t n, struct error *e)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	static const char remedy[] = "Give a pipe and copy the data, as isoctl does.";

	for (size_t i = 0; i < n && i < 3; i++) {
		int flags = fcntl(fds[i], F_GETFL);
		struct stat st;

		if (flags < 0 || fstat(fds[i], &st) < 0)
			return error_set(e, ERROR_REFUSED, errno, names[i], remedy, "%s cannot be examined.", names[i]);
		if (!(flags & O_PATH) &&
		    (S_ISFIFO(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) ||
		     (S_ISSOCK(st.st_mode) && is_own_pair(fds[i]))))
			continue;
		return error_set(e, ERROR_REFUSED, EPERM, names[i], remedy,
				 "%s is neither a pipe nor /dev/null: the program could open more through it.",
				 names[i]);
	}
	return 0;
}
