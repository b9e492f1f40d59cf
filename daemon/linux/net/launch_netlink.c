/* The little of netlink that is needed: send, and read every answer. */
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "daemon/linux/net/launch_net.h"

/* Answers to a batch of some dozens of messages, each with a copy of its head. */
#define RECEIVE_BUFFER (1 << 20)

/* Calls fn for each message; the copy makes no assumption on alignment. */
static int next(const uint8_t **at, const uint8_t *end, struct nlmsghdr *ret)
{
	size_t left = (size_t)(end - *at), step;

	if (left < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, *at, sizeof(*ret));
	if (ret->nlmsg_len < sizeof(*ret) || ret->nlmsg_len > left)
		return -EBADMSG;
	step = NLMSG_ALIGN(ret->nlmsg_len);
	*at += step < left ? step : left;
	return 0;
}

int launch_netlink_count(const void *data, size_t len, unsigned *ret_acks)
{
	const uint8_t *at = data, *end = at + len;
	unsigned acks = 0;
	int n = 0;

	while (at < end) {
		struct nlmsghdr header;

		if (next(&at, end, &header) < 0)
			return -EBADMSG;
		acks += (header.nlmsg_flags & NLM_F_ACK) != 0;
		n++;
	}
	*ret_acks = acks;
	return n;
}

/* The place of the message with that sequence number, or 0. */
static unsigned index_of(const void *data, size_t len, uint32_t sequence)
{
	const uint8_t *at = data, *end = at + len;
	struct nlmsghdr header;

	for (unsigned i = 0; at < end && next(&at, end, &header) == 0; i++)
		if (header.nlmsg_seq == sequence)
			return i;
	return 0;
}

struct answers {
	unsigned acks;
	int error; /* first refusal */
	uint32_t sequence;
};

static int read_answers(const uint8_t *at, const uint8_t *end, struct answers *a)
{
	while (at < end) {
		const uint8_t *message = at;
		struct nlmsghdr header;
		int32_t code;

		if (next(&at, end, &header) < 0)
			return -EBADMSG;
		if (header.nlmsg_type != NLMSG_ERROR)
			continue;
		if (header.nlmsg_len < NLMSG_HDRLEN + sizeof(code))
			return -EBADMSG;
		memcpy(&code, message + NLMSG_HDRLEN, sizeof(code));
		if (code == 0) {
			a->acks++;
		} else if (a->error == 0) {
			a->error = code;
			a->sequence = header.nlmsg_seq;
		}
	}
	return 0;
}

int launch_netlink_send(int protocol, const void *data, size_t len, unsigned *ret_index)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct answers answers = { 0 };
	uint8_t reply[16384];
	int one = 1, size = RECEIVE_BUFFER;
	unsigned wanted;

	if (fd < 0)
		return -errno;
	if (launch_netlink_count(data, len, &wanted) <= 0)
		return -EBADMSG;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	/* Else each refusal brings the whole message back. */
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	size = (int)len * 2;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	if (sendto(fd, data, len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) != (ssize_t)len)
		return -errno;
	/* The kernel has carried the batch out when sendto returns: every answer is there already. */
	for (;;) {
		ssize_t n = recv(fd, reply, sizeof(reply), MSG_DONTWAIT);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0)
			return -errno;
		r = read_answers(reply, reply + n, &answers);
		if (r < 0)
			return r;
	}
	if (answers.error != 0) {
		if (ret_index)
			*ret_index = index_of(data, len, answers.sequence);
		return answers.error;
	}
	return answers.acks < wanted ? -EPROTO : 0;
}
