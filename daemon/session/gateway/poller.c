#include "daemon/session/gateway/poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/descriptor_reserve.h"

enum { EVENTS_AT_ONCE = 128, PLACES_MIN = 64 };

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

static uint64_t key_of(const struct watch *w)
{
	return (uint64_t)w->stamp << 32 | (uint32_t)w->fd;
}

static struct watch *find(const struct poller *p, uint64_t key)
{
	uint32_t fd = (uint32_t)key;
	struct watch *w = fd < p->n_by_fd ? p->by_fd[fd] : NULL;

	return w && w->stamp == key >> 32 ? w : NULL;
}

static int make_place(struct poller *p, int fd)
{
	unsigned n = p->n_by_fd ? p->n_by_fd : PLACES_MIN;
	struct watch **more;

	if ((unsigned)fd < p->n_by_fd)
		return 0;
	while (n <= (unsigned)fd)
		n *= 2;
	more = realloc(p->by_fd, n * sizeof(struct watch *));
	if (!more)
		return -ENOMEM;
	memset(more + p->n_by_fd, 0, (n - p->n_by_fd) * sizeof(struct watch *));
	p->by_fd = more;
	p->n_by_fd = n;
	return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct poller *p = poll->data;
	struct epoll_event ready[EVENTS_AT_ONCE];
	int n = epoll_wait(p->fd, ready, EVENTS_AT_ONCE, 0);

	(void)status;
	(void)events;
	for (int i = 0; i < n; i++) {
		struct watch *w = find(p, ready[i].data.u64);
		uint32_t e = ready[i].events;

		/* Closed by an earlier event of this round, or while another process had a copy. */
		if (!w)
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
	p->by_fd = NULL;
	p->n_by_fd = 0;
	p->last_stamp = 0;
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
	free(p->by_fd);
	p->closed(p);
}

void poller_close(struct poller *p, void (*closed)(struct poller *p))
{
	p->closed = closed;
	uv_close((uv_handle_t *)&p->poll, handle_closed);
	uv_close((uv_handle_t *)&p->idle, handle_closed);
}

int poller_add(struct poller *p, struct watch *w, int fd, watch_fn fn)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int r = descriptor_is_reserved(fd) ? -EMFILE : make_place(p, fd);

	*w = (struct watch){ .fd = fd, .fn = fn, .stamp = ++p->last_stamp };
	e.data.u64 = key_of(w);
	if (r == 0 && epoll_ctl(p->fd, EPOLL_CTL_ADD, fd, &e) < 0)
		r = -errno;
	if (r < 0) {
		w->fd = fd_close(fd);
		return r;
	}
	p->by_fd[fd] = w;
	return 0;
}

void poller_move(struct poller *p, struct watch *from, struct watch *w, watch_fn fn)
{
	unqueue(p, from);
	*w = (struct watch){ .fd = from->fd,
			     .stamp = from->stamp,
			     .fn = fn,
			     .readable = from->readable,
			     .writable = from->writable,
			     .peer_shut = from->peer_shut,
			     .hangup = from->hangup,
			     .is_sole = from->is_sole };
	p->by_fd[w->fd] = w;
	*from = (struct watch)WATCH_INIT;
}

void poller_close_watch(struct poller *p, struct watch *w)
{
	unqueue(p, w);
	if (w->fd < 0)
		return;
	/* Not left to close() where that does not close the socket: its events would go on waking us. */
	if (!w->is_sole)
		epoll_ctl(p->fd, EPOLL_CTL_DEL, w->fd, NULL);
	p->by_fd[w->fd] = NULL;
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
