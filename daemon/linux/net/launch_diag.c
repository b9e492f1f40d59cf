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

static void ask(const struct link_message *m, struct question *q)
{
	*q = (struct question){
		.header = { .nlmsg_len = sizeof(*q),
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
	memcpy(q->ask.id.idiag_src, m->address, sizeof(q->ask.id.idiag_src));
	memcpy(q->ask.id.idiag_dst, m->to_address, sizeof(q->ask.id.idiag_dst));
}

/* One answer; a refusal (the socket is gone) has the number of its question, too. 1, 0: to none of these questions, -1:
 * there is no more. */
static int take_answer(int fd, const struct link_message *m, size_t n, uint64_t *ret)
{
	union {
		struct nlmsghdr header;
		char space[1024];
	} answer = { .space = { 0 } };
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
	size_t n_fds = 0;
	ssize_t len = fd_pass_receive(fd, &answer, sizeof(answer), NULL, &n_fds);

	size_t i = 0;

	if (len < (ssize_t)sizeof(answer.header))
		return -1;
	while (i < n && m[i].query != answer.header.nlmsg_seq)
		i++;
	if (i == n)
		return 0;
	if (len >= (ssize_t)NLMSG_LENGTH(sizeof(*found)) && answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	    found->idiag_state != STATE_LISTEN)
		ret[i] = found->idiag_inode;
	return 1;
}

void launch_diag_inodes(int fd, const struct link_message *m, size_t n, uint64_t *ret)
{
	struct question questions[LINK_BATCH];
	size_t asked = 0;

	for (size_t i = 0; i < n; i++) {
		ret[i] = 0;
		if (m[i].family == AF_INET || m[i].family == AF_INET6)
			ask(&m[i], &questions[asked++]);
	}
	if (asked == 0)
		return;
	/* The kernel answers inside the send. */
	if (fd_pass_send(fd, questions, asked * sizeof(questions[0]), NULL, 0) < 0)
		return;
	while (asked > 0) {
		int r = take_answer(fd, m, n, ret);

		if (r < 0)
			return;
		asked -= (size_t)r;
	}
}

uint64_t launch_diag_inode(int fd, const struct link_message *m)
{
	uint64_t inode;

	launch_diag_inodes(fd, m, 1, &inode);
	return inode;
}
