#include "daemon/session/gateway/own_address.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "policy/address.h"

static ssize_t ask(int family, const uint8_t *address, char *answer, size_t size)
{
	uint32_t len = family == AF_INET ? 4 : 16;
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
		struct rtattr attribute;
		uint8_t destination[16];
	} question = {
		.header = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)) + RTA_LENGTH(len),
			    .nlmsg_type = RTM_GETROUTE,
			    .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = (unsigned char)family, .rtm_dst_len = (unsigned char)(len * 8) },
		.attribute = { .rta_len = RTA_LENGTH(len), .rta_type = RTA_DST },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n;

	memcpy(question.destination, address, len);
	if (fd < 0 ||
	    sendto(fd, &question, question.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	/* The kernel answers inside sendto(2). */
	n = recv(fd, answer, size, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

bool own_address(int family, const uint8_t address[16])
{
	char answer[1024] __attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	const struct nlmsghdr *header = (const void *)answer;
	const struct rtmsg *route = NLMSG_DATA(header);
	uint8_t inner[16];
	ssize_t n;

	family = address_unwrap(family, address, inner);
	n = ask(family, inner, answer, sizeof(answer));
	if (n < 0 || !NLMSG_OK(header, (size_t)n))
		return true;
	/* No way to it: the attempt to connect will say so. */
	if (header->nlmsg_type != RTM_NEWROUTE)
		return false;
	return header->nlmsg_len < NLMSG_LENGTH(sizeof(*route)) || route->rtm_type == RTN_LOCAL;
}
