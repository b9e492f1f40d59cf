/* The sockets that isod-session serves: made in the session's namespace, used from outside of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/net/launch_net.h"
#include "daemon/wire/link_wire.h"
#include "daemon/wire/netns.h"

/* Cut by the kernel to net.core.somaxconn. */
#define BACKLOG 65535
/* Head and ports of a refused packet. */
#define NFLOG_COPY 128

static const struct {
	const char *name;
	int family;
	int type;
	uint16_t port;
} sockets[] = {
	[LISTENER_PROXY_V4] = { "proxy", AF_INET, SOCK_STREAM, NETNS_PROXY_PORT },
	[LISTENER_PROXY_V6] = { "proxy", AF_INET6, SOCK_STREAM, NETNS_PROXY_PORT },
	[LISTENER_CAPTURE_V4] = { "capture", AF_INET, SOCK_STREAM, NETNS_CAPTURE_PORT },
	[LISTENER_CAPTURE_V6] = { "capture", AF_INET6, SOCK_STREAM, NETNS_CAPTURE_PORT },
	[LISTENER_DNS_UDP_V4] = { "DNS", AF_INET, SOCK_DGRAM, NETNS_DNS_PORT },
	[LISTENER_DNS_UDP_V6] = { "DNS", AF_INET6, SOCK_DGRAM, NETNS_DNS_PORT },
	[LISTENER_DNS_TCP_V4] = { "DNS", AF_INET, SOCK_STREAM, NETNS_DNS_PORT },
	[LISTENER_DNS_TCP_V6] = { "DNS", AF_INET6, SOCK_STREAM, NETNS_DNS_PORT },
};
_Static_assert(ARRAY_SIZE(sockets) == LISTENER_NFLOG, "the last one is of another kind");

static int bind_loopback(int fd, int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return -errno;
	if (family == AF_INET)
		return bind(fd, (struct sockaddr *)&v4, sizeof(v4)) < 0 ? -errno : 0;
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		return -errno;
	return bind(fd, (struct sockaddr *)&v6, sizeof(v6)) < 0 ? -errno : 0;
}

static int make_socket(int family, int type, uint16_t port)
{
	_cleanup_close_ int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = bind_loopback(fd, family, port);
	if (r < 0)
		return r;
	if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(&fd);
}

struct nflog_config {
	struct nlmsghdr header;
	struct nfgenmsg netfilter;
	struct nfattr command_head;
	struct nfulnl_msg_config_cmd command;
	uint8_t command_pad[3];
	struct nfattr mode_head;
	struct nfulnl_msg_config_mode mode;
	uint8_t mode_pad[2];
	struct nfattr threshold_head;
	uint32_t threshold;
} __attribute__((packed));

/*
 * Binding the group is a request over the very socket that the packets will arrive at. The kernel is not to collect
 * packets: what waits in it when a short program ends is lost with the namespace. The ruleset bounds their rate.
 */
static int configure_nflog(int fd)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nflog_config config = {
		.header = { .nlmsg_len = sizeof(config),
			    .nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
			    .nlmsg_seq = 1 },
		.netfilter = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NETNS_NFLOG_GROUP) },
		.command_head = { .nfa_len = sizeof(struct nfattr) + sizeof(config.command),
				  .nfa_type = NFULA_CFG_CMD },
		.command = { .command = NFULNL_CFG_CMD_BIND },
		.mode_head = { .nfa_len = sizeof(struct nfattr) + sizeof(config.mode), .nfa_type = NFULA_CFG_MODE },
		.mode = { .copy_range = htonl(NFLOG_COPY), .copy_mode = NFULNL_COPY_PACKET },
		.threshold_head = { .nfa_len = sizeof(struct nfattr) + sizeof(config.threshold),
				    .nfa_type = NFULA_CFG_QTHRESH },
		.threshold = htonl(1),
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} answer;
	ssize_t n;

	if (sendto(fd, &config, sizeof(config), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(answer) || answer.header.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return answer.error.error;
}

static int make_nflog(void)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);
	int r;

	if (fd < 0)
		return -errno;
	r = configure_nflog(fd);
	return r < 0 ? r : take_fd(&fd);
}

static int make_all(int *fds, struct error *e)
{
	for (size_t i = 0; i < LISTENER_NFLOG; i++) {
		fds[i] = make_socket(sockets[i].family, sockets[i].type, sockets[i].port);
		if (fds[i] < 0)
			return launch_step_fail(e, -fds[i], NULL, "The %s socket of the session cannot be made: %s.",
						sockets[i].name, strerror(-fds[i]));
	}
	fds[LISTENER_NFLOG] = make_nflog();
	if (fds[LISTENER_NFLOG] < 0)
		return launch_step_fail(e, -fds[LISTENER_NFLOG], "The kernel needs nfnetlink_log.",
					"Refused packets cannot be logged: %s.", strerror(-fds[LISTENER_NFLOG]));
	return 0;
}

int launch_net_listeners(struct launch *l, struct error *e)
{
	struct link_message message = { .type = LINK_LISTENERS };
	int fds[LISTENER_COUNT], r;

	for (size_t i = 0; i < LISTENER_COUNT; i++)
		fds[i] = -1;
	r = make_all(fds, e);
	if (r == 0) {
		ssize_t n = fd_pass_send(l->link_fd, &message, sizeof(message), fds, LISTENER_COUNT);

		if (n < 0)
			r = launch_step_fail(e, (int)-n, NULL, "The session's sockets cannot be handed over: %s.",
					     strerror((int)-n));
	}
	for (size_t i = 0; i < LISTENER_COUNT; i++)
		fd_close(fds[i]);
	return r;
}
