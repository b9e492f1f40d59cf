#include "daemon/monitor/agent_check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static bool is_stream(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return false;
	len = sizeof(int);
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && domain == AF_UNIX && type == SOCK_STREAM;
}

int agent_check(int fd, uid_t uid, struct error *e)
{
	static const char remedy[] = "Start isoctl where ssh-add -l works.";
	struct sockaddr_un other;
	socklen_t other_len = sizeof(other);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!is_stream(fd) || getpeername(fd, (struct sockaddr *)&other, &other_len) < 0)
		return error_set(e, ERROR_REFUSED, EPERM, "ssh-agent", remedy,
				 "What was given as the ssh-agent is no connected stream socket.");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || (uid != 0 && peer.uid != uid))
		return error_set(e, ERROR_REFUSED, EPERM, "ssh-agent", remedy,
				 "The ssh-agent is not one of the same user.");
	return 0;
}
