#include "daemon/session/nflog.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "daemon/session/nflog_message.h"
#include "daemon/session/tally.h"
#include "policy/egress.h"

/* Milliseconds in which packets of one kind to one place are told together. */
#define WINDOW 5000
/* Reads in one turn of the loop. */
#define TURN_MAX 16
/* The kernel batches messages up to a page; a larger one is cut and its rest not understood. */
#define READ_MAX (16U << 10)

struct nflog {
	uv_poll_t poll;
	int fd;
	struct events *events;
	struct tally *refused;
};

static void report(struct nflog *n, const struct nflog_packet *p)
{
	struct session_connection c = {
		.via = VIA_PACKET,
		.reason = EGRESS_PROTOCOL,
		.rule = UINT32_MAX,
		.protocol = p->protocol,
		.family = p->family,
		.port = p->port,
	};

	memcpy(c.address, p->address, sizeof(c.address));
	tally_add(n->refused, &c);
}

static void read_some(struct nflog *n)
{
	for (int i = 0; i < TURN_MAX; i++) {
		uint8_t data[READ_MAX];
		struct sockaddr_nl from = { 0 };
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(n->fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
		struct nflog_packet packet;
		size_t at = 0;

		if (len < 0 && errno == ENOBUFS) { /* the kernel dropped some: how many it does not say */
			events_lost(n->events, 1);
			continue;
		}
		if (len <= 0)
			return;
		if (from.nl_pid != 0) /* only the kernel logs */
			continue;
		while (nflog_message_next(data, (size_t)len, &at, &packet))
			report(n, &packet);
	}
}

static void on_message(uv_poll_t *poll, int status, int events)
{
	(void)events;
	if (status < 0) /* too many at once: reading clears it, but libuv has stopped watching */
		uv_poll_start(poll, UV_READABLE, on_message);
	read_some(poll->data);
}

int nflog_open(uv_loop_t *loop, int fd, struct events *events, struct nflog **ret)
{
	struct nflog *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	r = tally_new(loop, events, WINDOW, &n->refused);
	if (r == 0)
		r = uv_poll_init(loop, &n->poll, fd);
	if (r < 0) {
		tally_close(n->refused);
		free(n);
		return r;
	}
	n->poll.data = n;
	n->fd = fd;
	n->events = events;
	uv_poll_start(&n->poll, UV_READABLE, on_message);
	*ret = n;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void nflog_close(struct nflog *n)
{
	if (!n)
		return;
	/* The program may have ended before the loop came round to its last packets. */
	read_some(n);
	tally_close(n->refused);
	uv_close((uv_handle_t *)&n->poll, on_closed);
	n->fd = fd_close(n->fd);
}
