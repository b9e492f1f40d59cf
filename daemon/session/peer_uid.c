#include "daemon/session/peer_uid.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 ask;
};

static void put(const union address *a, uint16_t *ret_port, uint32_t ret_address[4])
{
	*ret_port = a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port;
	if (a->any.sa_family == AF_INET)
		memcpy(ret_address, &a->v4.sin_addr, sizeof(a->v4.sin_addr));
	else
		memcpy(ret_address, &a->v6.sin6_addr, sizeof(a->v6.sin6_addr));
}

static ssize_t ask(const struct question *q, char *answer, size_t size)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	if (fd < 0 || sendto(fd, q, sizeof(*q), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	/* The kernel answers inside sendto(2). */
	n = recv(fd, answer, size, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

int peer_uid(int fd, uint32_t *ret)
{
	struct question q = {
		.header = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.ask = { .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0U,
			 .id = { .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	union {
		struct nlmsghdr header;
		char space[1024];
	} answer = { .space = { 0 } };
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
	union address own = { .any.sa_family = 0 }, peer = own;
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	ssize_t n;

	if (getsockname(fd, &own.any, &own_len) < 0 || getpeername(fd, &peer.any, &peer_len) < 0)
		return -errno;
	if (own.any.sa_family != peer.any.sa_family || (own.any.sa_family != AF_INET && own.any.sa_family != AF_INET6))
		return -EAFNOSUPPORT;
	q.ask.sdiag_family = (uint8_t)own.any.sa_family;
	put(&peer, &q.ask.id.idiag_sport, q.ask.id.idiag_src);
	put(&own, &q.ask.id.idiag_dport, q.ask.id.idiag_dst);
	n = ask(&q, answer.space, sizeof(answer.space));
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ESRCH;
	/* Of a socket that no process has any more the kernel says that it is root's. */
	if (found->idiag_inode == 0 || found->id.idiag_sport != q.ask.id.idiag_sport)
		return -ESRCH;
	/* Where there is no such connection any more, a listener at that port is found. */
	if (found->id.idiag_dport != q.ask.id.idiag_dport)
		return -ESRCH;
	*ret = found->idiag_uid;
	return 0;
}
