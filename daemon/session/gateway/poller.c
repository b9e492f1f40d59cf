#include "daemon/session/gateway/poller.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/descriptor_reserve.h"

enum { EVENTS_AT_ONCE = 128 };

static void empty_graves(struct poller *p)
{
	while (p->graves) {
		struct grave *g = p->graves;

		p->graves = g->next;
		free(g);
	}
}

static void unqueue(struct poller *p, struct watch *w)
{
	if (!w->queued)
		return;
	TAILQ_REMOVE(&p->again, w, link);
	p->n_again--;
	w->queued = false;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct poller *p = poll->data;
	struct epoll_event ready[EVENTS_AT_ONCE];
	int n = epoll_wait(p->fd, ready, EVENTS_AT_ONCE, 0);

	(void)status;
	(void)events;
	for (int i = 0; i < n; i++) {
		struct watch *w = ready[i].data.ptr;
		uint32_t e = ready[i].events;

		/* Closed by an earlier event of this round; its block lies in a grave until the round is over. */
		if (w->fd < 0)
			continue;
		if (e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			w->readable = true;
		if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR))
			w->writable = true;
		if (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			w->peer_shut = true;
		if (e & (EPOLLHUP | EPOLLERR))
			w->hangup = true;
		w->fn(w);
	}
	empty_graves(p);
}

static void on_idle(uv_idle_t *idle)
{
	struct poller *p = idle->data;
	struct watch *w;

	/* Those that queue again meanwhile have their turn in the next round. */
	for (unsigned n = p->n_again; n > 0 && (w = TAILQ_FIRST(&p->again)); n--) {
		unqueue(p, w);
		w->fn(w);
	}
	if (TAILQ_EMPTY(&p->again))
		uv_idle_stop(&p->idle);
	empty_graves(p);
}

int poller_open(struct poller *p, uv_loop_t *loop)
{
	int r;

	TAILQ_INIT(&p->again);
	p->n_again = 0;
	p->graves = NULL;
	p->open_handles = 0;
	p->fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->fd < 0)
		return -errno;
	r = uv_poll_init(loop, &p->poll, p->fd);
	if (r < 0) {
		p->fd = fd_close(p->fd);
		return r;
	}
	p->poll.data = p;
	uv_idle_init(loop, &p->idle);
	p->idle.data = p;
	p->open_handles = 2;
	return uv_poll_start(&p->poll, UV_READABLE, on_ready);
}

static void handle_closed(uv_handle_t *h)
{
	struct poller *p = h->data;

	if (--p->open_handles > 0)
		return;
	p->fd = fd_close(p->fd);
	empty_graves(p);
	p->closed(p);
}

void poller_close(struct poller *p, void (*closed)(struct poller *p))
{
	p->closed = closed;
	uv_close((uv_handle_t *)&p->poll, handle_closed);
	uv_close((uv_handle_t *)&p->idle, handle_closed);
}

static int set_watch(struct poller *p, struct watch *w, int op)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = w };

	if (epoll_ctl(p->fd, op, w->fd, &e) < 0) {
		int err = errno;

		poller_close_watch(p, w);
		return -err;
	}
	return 0;
}

int poller_add(struct poller *p, struct watch *w, int fd, watch_fn fn)
{
	*w = (struct watch){ .fd = fd, .fn = fn };
	if (descriptor_is_reserved(fd)) {
		poller_close_watch(p, w);
		return -EMFILE;
	}
	return set_watch(p, w, EPOLL_CTL_ADD);
}

int poller_move(struct poller *p, struct watch *from, struct watch *w, watch_fn fn)
{
	unqueue(p, from);
	*w = (struct watch){ .fd = from->fd,
			     .fn = fn,
			     .readable = from->readable,
			     .writable = from->writable,
			     .peer_shut = from->peer_shut,
			     .hangup = from->hangup };
	*from = (struct watch)WATCH_INIT;
	return set_watch(p, w, EPOLL_CTL_MOD);
}

void poller_close_watch(struct poller *p, struct watch *w)
{
	unqueue(p, w);
	/* Not left to close(): while another process has a copy, events of the descriptor would go on coming. */
	if (w->fd >= 0)
		epoll_ctl(p->fd, EPOLL_CTL_DEL, w->fd, NULL);
	w->fd = fd_close(w->fd);
}

void poller_again(struct poller *p, struct watch *w)
{
	if (w->queued || w->fd < 0)
		return;
	w->queued = true;
	p->n_again++;
	TAILQ_INSERT_TAIL(&p->again, w, link);
	if (!uv_is_active((uv_handle_t *)&p->idle))
		uv_idle_start(&p->idle, on_idle);
}

void poller_bury(struct poller *p, struct grave *g)
{
	g->next = p->graves;
	p->graves = g;
}
