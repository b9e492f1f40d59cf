/* Sockets that are not plain TCP, UDP or Unix ones, and the session's own network configuration. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

const char *attempt_host_socket;

static char detail[128];

static const struct {
	const char *name;
	int family, type, protocol;
} kinds[] = {
	{ "raw IPv4", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "raw IPv6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
	{ "raw UDP", AF_INET, SOCK_RAW, IPPROTO_UDP },
	{ "AF_INET packet", AF_INET, SOCK_PACKET, 0x0300 },
	{ "AF_PACKET raw", AF_PACKET, SOCK_RAW, 0x0300 },
	{ "AF_PACKET datagram", AF_PACKET, SOCK_DGRAM, 0x0300 },
	{ "AF_VSOCK", 40, SOCK_STREAM, 0 },
	{ "AF_ALG", 38, SOCK_SEQPACKET, 0 },
	{ "AF_KEY", 15, SOCK_RAW, 2 },
	{ "AF_BLUETOOTH", 31, SOCK_RAW, 1 },
	{ "AF_XDP", 44, SOCK_RAW, 0 },
	{ "AF_TIPC", 30, SOCK_STREAM, 0 },
	{ "AF_RDS", 21, SOCK_SEQPACKET, 0 },
	{ "AF_CAN", 29, SOCK_RAW, 1 },
	{ "SCTP", AF_INET, SOCK_STREAM, 132 },
	{ "DCCP", AF_INET, 6, 33 },
	{ "netlink netfilter", AF_NETLINK, SOCK_RAW, 12 },
	{ "netlink uevent", AF_NETLINK, SOCK_RAW, 15 },
	{ "netlink audit", AF_NETLINK, SOCK_RAW, 9 },
	{ "netlink generic", AF_NETLINK, SOCK_RAW, 16 },
	{ "netlink crypto", AF_NETLINK, SOCK_RAW, 21 },
	{ "netlink xfrm", AF_NETLINK, SOCK_RAW, 6 },
};

static const char *socket_kinds(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (REFUSED(socket(kinds[i].family, kinds[i].type, kinds[i].protocol)))
			continue;
		snprintf(detail, sizeof(detail), "a socket of kind %s was made", kinds[i].name);
		return detail;
	}
	return NULL;
}

/* Route netlink may be read; each of these is a change and must be answered with an error. */
static const char *route_request(uint16_t type)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
		char room[32];
	} request = {
		.header = { NLMSG_LENGTH(sizeof(struct rtmsg)), type, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
		.route = { .rtm_family = AF_INET,
			   .rtm_table = RT_TABLE_LOCAL,
			   .rtm_type = RTN_LOCAL,
			   .rtm_scope = RT_SCOPE_HOST },
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0 || REFUSED(send(fd, &request, request.header.nlmsg_len, 0)) ||
	    REFUSED(recv(fd, &answer, sizeof(answer), 0)))
		return NULL;
	return answer.error.error < 0 ? NULL : "the kernel took the change";
}

static const char *route_remove(void)
{
	return route_request(RTM_DELROUTE);
}

static const char *link_down(void)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} request = {
		.header = { sizeof(request), RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
		.link = { .ifi_index = 1, .ifi_change = 1 },
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0 || REFUSED(send(fd, &request, sizeof(request), 0)) || REFUSED(recv(fd, &answer, sizeof(answer), 0)))
		return NULL;
	return answer.error.error < 0 ? NULL : "lo was taken down";
}

static const char *socket_options(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), value = 1;

	if (fd < 0)
		return "no socket";
	if (!REFUSED(setsockopt(fd, SOL_IP, 64 /* IPT_SO_SET_REPLACE */, &value, sizeof(value))))
		return "iptables rules were set";
	if (!REFUSED(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof(value))))
		return "a buffer was forced";
	return REFUSED(setsockopt(fd, SOL_IP, IP_TRANSPARENT, &value, sizeof(value))) ? NULL
										      : "foreign addresses can be used";
}

static const char *host_abstract_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(attempt_host_socket));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + 1, attempt_host_socket, strlen(attempt_host_socket));
	return fd < 0 || REFUSED(connect(fd, (struct sockaddr *)&address, len)) ? NULL
										: "a socket of the host was reached";
}

/* Abstract sockets of others show with an @ before their name. */
static const char *abstract_names(void)
{
	FILE *f = fopen("/proc/net/unix", "r");
	char line[256];

	if (!f)
		return NULL;
	while (fgets(line, sizeof(line), f))
		if (strchr(line, '@'))
			return "abstract sockets are visible";
	fclose(f);
	return NULL;
}

static const char *links(void)
{
	FILE *f = fopen("/proc/net/dev", "r");
	char line[256];

	if (!f)
		return NULL;
	while (fgets(line, sizeof(line), f))
		if (strchr(line, ':') && !strstr(line, "lo:"))
			return "a link other than lo exists";
	fclose(f);
	return NULL;
}

const struct attempt attempts_network[] = {
	{ "socket-kinds", socket_kinds, false },
	{ "route-remove", route_remove, false },
	{ "link-down", link_down, false },
	{ "socket-options", socket_options, false },
	{ "host-abstract-socket", host_abstract_socket, false },
	{ "abstract-names", abstract_names, false },
	{ "links", links, false },
	{ NULL, NULL, false },
};
