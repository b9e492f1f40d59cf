#include "daemon/linux/net/launch_publish.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch.h"
#include "daemon/launch/launch_report.h"
#include "daemon/launch/launch_step.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/link_wire.h"

#define BACKLOG 128
/* Ports that are free for one family and taken for the other: so many are tried before we give up. */
#define ATTEMPTS 16

enum { V4, V6, FAMILIES };

/* Of a loopback address; *port 0: any, and then the number that it got. */
static int listen_on(int family, uint16_t *port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .any.sa_family = 0 };
	socklen_t len = family == AF_INET ? sizeof(a.v4) : sizeof(a.v6);
	_cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	static const int one = 1;

	if (family == AF_INET)
		a.v4 = (struct sockaddr_in){ .sin_family = AF_INET,
					     .sin_port = htons(*port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	else
		a.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					      .sin6_port = htons(*port),
					      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	/* REUSEADDR: connections of a session before that are closing are no hindrance; another listener is. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
	    bind(fd, &a.any, len) < 0 || listen(fd, BACKLOG) < 0 || getsockname(fd, &a.any, &len) < 0)
		return -errno;
	*port = ntohs(family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return take_fd(&fd);
}

static bool is_absent(int r)
{
	return r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT;
}

/* Both or none: somebody else's listener on ::1 would get the connections of clients that try that first. */
static int listen_both(uint16_t *port, int fds[FAMILIES])
{
	const uint16_t wanted = *port;

	for (int i = 0; i < ATTEMPTS; i++) {
		*port = wanted;
		fds[V4] = listen_on(AF_INET, port);
		if (fds[V4] < 0)
			return fds[V4];
		fds[V6] = listen_on(AF_INET6, port);
		if (fds[V6] >= 0 || is_absent(fds[V6]))
			return 0;
		fds[V4] = fd_close(fds[V4]);
		if (wanted != 0 || fds[V6] != -EADDRINUSE)
			return fds[V6];
	}
	return -EADDRINUSE;
}

static int hand_over(const struct launch *l, const int fds[FAMILIES], uint16_t port, const struct plan_port *p)
{
	static const uint16_t families[FAMILIES] = { AF_INET, AF_INET6 };

	for (int i = 0; i < FAMILIES; i++) {
		struct link_message m = { .type = LINK_PORT,
					  .kind = p->way,
					  .family = families[i],
					  .port = port,
					  .to_port = p->way == PLAN_PORT_IN ? p->inside : p->host };
		ssize_t n = fds[i] < 0 ? 0 : fd_pass_send(l->link_fd, &m, sizeof(m), &fds[i], 1);

		if (n < 0)
			return (int)n;
	}
	return p->way == PLAN_PORT_IN ? launch_report_port(LAUNCH_FD_REPORT, port, p->inside) : 0;
}

static int refuse(struct error *e, int err, const struct plan_port *p)
{
	const char *remedy =
		err == EADDRINUSE
			? "Free it, choose another one (--publish HOSTPORT:PORT), or let isod choose (--publish :PORT)."
		: err == EACCES ? "Choose a higher one: --publish HOSTPORT:PORT."
				: "Start without it: --publish, \"publish\" or \"hostPorts\" of the policy.";

	if (p->host == 0)
		return error_set(e, ERROR_REFUSED, err, NULL, remedy,
				 "No port of the host can lead to port %u of the sandbox: %s.", p->inside,
				 strerror(err));
	if (p->way == PLAN_PORT_OUT)
		return launch_step_fail(e, err, remedy, "Port %u of the host cannot be lent: %s.", p->host,
					strerror(err));
	return error_set(e, ERROR_REFUSED, err, NULL, remedy, "Port %u of the host cannot be published: %s.", p->host,
			 err == EADDRINUSE ? "something listens on it already" : strerror(err));
}

static int publish(struct launch *l, const struct plan_port *p, struct error *e)
{
	int fds[FAMILIES] = { -1, -1 }, r;
	uint16_t port = p->host;

	r = listen_both(&port, fds);
	if (r < 0)
		return refuse(e, -r, p);
	r = hand_over(l, fds, port, p);
	for (int i = 0; i < FAMILIES; i++)
		if (fds[i] >= 0)
			fd_close(fds[i]);
	return r;
}

static int publish_all(struct launch *l, enum plan_port_way way, struct error *e)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->plan.n_ports; i++)
		if (l->plan.ports[i].way == way)
			r = publish(l, &l->plan.ports[i], e);
	return r;
}

/* Whether the effective set has the capability, by which any user's port may be a privileged one, or not. */
static int set_bind_service(bool on)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	const uint32_t bit = 1U << CAP_NET_BIND_SERVICE;

	if (syscall(SYS_capget, &head, sets) < 0)
		return -errno;
	sets[0].effective = on ? sets[0].effective | bit : sets[0].effective & ~bit;
	return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

int launch_publish_listen(struct launch *l, struct error *e)
{
	int r = 0, back;

	if (l->plan.n_ports == 0)
		return 0;
	/* What the machine reserves is not the caller's (net.ipv4.ip_unprivileged_port_start). */
	r = set_bind_service(false);
	if (r == 0)
		r = publish_all(l, PLAN_PORT_IN, e);
	back = set_bind_service(true);
	return r < 0 ? r : back;
}

int launch_publish_lent(struct launch *l, struct error *e)
{
	return publish_all(l, PLAN_PORT_OUT, e);
}

int launch_publish_socket(int link_fd, const struct link_message *asked)
{
	struct link_message m = { .type = LINK_SOCKET, .query = asked->query };
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (asked->family != AF_INET && asked->family != AF_INET6)
		return -EBADMSG;
	fd = socket(asked->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	m.value = fd < 0 ? -errno : 0;
	n = fd_pass_send(link_fd, &m, sizeof(m), &fd, fd >= 0);
	/* As many are under way as may be (ETOOMANYREFS): no reason to end. */
	if (n < 0 && fd >= 0) {
		m.value = (int)n;
		n = fd_pass_send(link_fd, &m, sizeof(m), NULL, 0);
	}
	return n < 0 ? (int)n : 0;
}
