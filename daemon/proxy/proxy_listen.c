#include "daemon/proxy/proxy_listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int listen_on(const struct sockaddr *address, socklen_t len)
{
	static const int on = 1;
	_cleanup_close_ int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (address->sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(fd, address, len) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	return take_fd(&fd);
}

static int refuse(int err, uint16_t port, struct error *e)
{
	const char *remedy = err == EADDRINUSE ? "Another one may run already; or choose a port with --port."
			     : err == EPERM || err == EACCES ? "Start it outside the sandbox, on a port above 1023."
							     : NULL;

	return error_set(e, ERROR_REFUSED, err, "gateway", remedy, "It cannot listen on port %u: %s.", port,
			 strerror(err));
}

int proxy_listen(uint16_t port, int *ret_v4, int *ret_v6, uint16_t *ret_port, struct error *e)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	_cleanup_close_ int fd4 = listen_on((struct sockaddr *)&v4, sizeof(v4));
	_cleanup_close_ int fd6 = -1;
	socklen_t len = sizeof(v4);

	if (fd4 < 0)
		return refuse(-fd4, port, e);
	if (getsockname(fd4, (struct sockaddr *)&v4, &len) < 0)
		return refuse(errno, port, e);
	v6.sin6_port = v4.sin_port;
	fd6 = listen_on((struct sockaddr *)&v6, sizeof(v6));
	/* Somebody else's listener there would be asked by clients that mean us. */
	if (fd6 < 0 && fd6 != -EADDRNOTAVAIL && fd6 != -EAFNOSUPPORT)
		return refuse(-fd6, ntohs(v4.sin_port), e);
	*ret_port = ntohs(v4.sin_port);
	*ret_v4 = take_fd(&fd4);
	*ret_v6 = fd6 < 0 ? -1 : take_fd(&fd6);
	return 0;
}
