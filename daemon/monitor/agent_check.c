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

int agent_check(const char *name, int fd, uid_t uid, struct error *e)
{
	const char *remedy = strcmp(name, "ssh-agent") == 0 ? "Start isoctl where ssh-add -l works."
							    : "Start isoctl where gpg can sign.";
	struct sockaddr_un other;
	socklen_t other_len = sizeof(other);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!is_stream(fd) || getpeername(fd, (struct sockaddr *)&other, &other_len) < 0)
		return error_set(e, ERROR_REFUSED, EPERM, name, remedy,
				 "What was given as the %s is no connected stream socket.", name);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || (uid != 0 && peer.uid != uid))
		return error_set(e, ERROR_REFUSED, EPERM, name, remedy, "The %s is not one of the same user.", name);
	return 0;
}
