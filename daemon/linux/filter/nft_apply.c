#include "daemon/linux/filter/nft_apply.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/*
 * Counts the messages that ask for an acknowledgement. A batch without its end is acknowledged in full and then thrown
 * away in silence, so it is refused here: -EBADMSG.
 */
static ssize_t count_wanted(const void *batch, size_t len)
{
	const struct nlmsghdr *h = batch;
	uint16_t last = 0;
	ssize_t n = 0;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		n += (h->nlmsg_flags & NLM_F_ACK) != 0;
		last = h->nlmsg_type;
	}
	return len == 0 && last == NFNL_MSG_BATCH_END ? n : -EBADMSG;
}

/* The kernel works a batch off inside sendto(2), so every answer is here already. */
static int read_answers(int sock, ssize_t wanted)
{
	char data[16384] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t got = 0;

	for (;;) {
		const struct nlmsghdr *h = (const void *)data;
		ssize_t n = recv(sock, data, sizeof(data), MSG_DONTWAIT);
		size_t left;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return got == wanted ? 0 : -EPROTO;
		if (n < 0)
			return -errno;
		for (left = n; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			const struct nlmsgerr *answer = NLMSG_DATA(h);

			if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*answer)))
				return -EPROTO;
			if (answer->error < 0)
				return answer->error;
			got++;
		}
	}
}

int nft_apply(const void *batch, size_t len)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	_cleanup_close_ int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	ssize_t wanted = count_wanted(batch, len), n;

	if (wanted < 0)
		return (int)wanted;
	if (sock < 0)
		return -errno;
	n = sendto(sock, batch, len, 0, (const struct sockaddr *)&kernel, sizeof(kernel));
	if (n < 0)
		return -errno;
	return (size_t)n == len ? read_answers(sock, wanted) : -EPROTO;
}
