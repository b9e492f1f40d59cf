#include "daemon/monitor/peer_home.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Not in the headers of every supported system. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int check_namespace(pid_t pid, const char *name)
{
	char path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &ours) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	if (stat(path, &theirs) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino ? 0 : -EPERM;
}

int peer_home_check(int sock, pid_t pid)
{
	_cleanup_close_ int pidfd = -1;
	struct pollfd ended = { .fd = -1, .events = POLLIN };
	socklen_t len = sizeof(pidfd);
	int r;

	/* Before Linux 6.5 there is none, and a number used again in this moment would pass for the peer. */
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0 && errno != ENOPROTOOPT)
		return -ESRCH;
	if (pid <= 0)
		return -EPERM;
	r = check_namespace(pid, "pid");
	if (r == 0)
		r = check_namespace(pid, "user");
	if (r < 0)
		return r;
	/* Alive now, so the number was its own all the time. */
	ended.fd = pidfd;
	return poll(&ended, 1, 0) == 0 ? 0 : -ESRCH;
}

void peer_home_refuse(int sock)
{
	static const char reply[] = "{\"error\":\"org.isod.Refused\",\"parameters\":{\"step\":\"connection\","
				    "\"message\":\"isod does not serve programs in a sandbox or a container.\","
				    "\"remedy\":\"Call it from outside.\",\"errno\":1}}";

	/* With its NUL: the end of a message. */
	(void)!send(sock, reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}
