#include "daemon/linux/net/launch_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "daemon/wire/link_wire.h"

/* include/net/tcp_states.h; the listening socket of the same port would be found where the connection is gone. */
enum { STATE_LISTEN = 10 };

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 ask;
};

int launch_diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

uint64_t launch_diag_inode(int fd, const struct link_message *m)
{
	struct question q = {
		.header = { .nlmsg_len = sizeof(q),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST,
			    .nlmsg_seq = m->query },
		.ask = { .sdiag_family = (uint8_t)m->family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0U,
			 .id = { .idiag_sport = htons(m->port),
				 .idiag_dport = htons(m->to_port),
				 .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	union {
		struct nlmsghdr header;
		char space[1024];
	} answer = { .space = { 0 } };
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
	size_t n_fds = 0;
	ssize_t n;

	if (m->family != AF_INET && m->family != AF_INET6)
		return 0;
	memcpy(q.ask.id.idiag_src, m->address, sizeof(q.ask.id.idiag_src));
	memcpy(q.ask.id.idiag_dst, m->to_address, sizeof(q.ask.id.idiag_dst));
	/* The kernel answers inside the send. */
	if (fd_pass_send(fd, &q, sizeof(q), NULL, 0) != sizeof(q))
		return 0;
	n = fd_pass_receive(fd, &answer, sizeof(answer), NULL, &n_fds);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    answer.header.nlmsg_seq != m->query || found->idiag_state == STATE_LISTEN)
		return 0;
	return found->idiag_inode;
}
