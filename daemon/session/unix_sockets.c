#include "daemon/session/unix_sockets.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/session/events.h"
#include "daemon/session/link.h"
#include "daemon/session/owner.h"
#include "daemon/session/pair.h"
#include "policy/egress.h"

/* Milliseconds after which a service whose backlog was full is asked again: the kernel tells of no room in it. */
#define AGAIN 50

/*
 *   WHO        whose the near end is, while it is there
 *   ASKED      the connector was asked
 *   FULL       to be asked again
 *   RELAYING   both ends are there
 */
enum state { WHO, ASKED, FULL, RELAYING };

struct passage {
	struct grave grave;
	TAILQ_ENTRY(passage) link;
	struct unix_sockets *all;
	const struct listener *listener;
	enum state state;
	struct pair pair;
	uint32_t query;
	uint32_t owner;   /* open question of owner.h, or 0 */
	uint64_t started; /* uv_hrtime() */
	struct session_connection event;
};

enum { ACCEPTS_IN_A_TURN = 64 };

struct listener {
	struct watch watch;
	struct unix_sockets *all;
	int32_t number;
	char path[LIMIT_UNIX_PATH];
};

struct unix_sockets {
	struct events *events;
	struct link *link;
	struct poller poller;
	uv_timer_t again;
	unsigned open; /* poller and timer */
	struct watch connector;
	struct listener listeners[LIMIT_UNIX_SOCKETS];
	unsigned n_listeners;
	TAILQ_HEAD(, passage) passages;
	unsigned n_passages;
	uint32_t last_query;
	char scratch[RELAY_SCRATCH];
};

static void end(struct passage *c, uint32_t reason)
{
	struct unix_sockets *u = c->all;
	struct session_connection *e = &c->event;

	if (c->owner)
		owner_forget(u->link, c->owner);
	e->via = VIA_UNIX_SOCKET;
	e->allowed = reason == EGRESS_ALLOWED;
	e->reason = reason;
	e->rule = UINT32_MAX;
	e->bytes_up = c->pair.up.bytes;
	e->bytes_down = c->pair.down.bytes;
	e->duration_us = (uv_hrtime() - c->started) / 1000;
	snprintf(e->name, sizeof(e->name), "%s", c->listener->path);
	events_connection(u->events, e);
	pair_done(&c->pair, &u->poller);
	TAILQ_REMOVE(&u->passages, c, link);
	poller_bury(&u->poller, &c->grave);
	if (u->n_passages-- < LIMIT_UNIX_CONNECTIONS)
		return;
	/* Some may have waited for this one to end. */
	for (unsigned i = 0; i < u->n_listeners; i++)
		poller_again(&u->poller, &u->listeners[i].watch);
}

static void run(struct passage *c)
{
	switch (pair_run(&c->pair, c->all->scratch)) {
	case RELAY_DONE:
		end(c, EGRESS_ALLOWED);
		break;
	case RELAY_AGAIN:
		poller_again(&c->all->poller, &c->pair.near);
		break;
	default:
		break;
	}
}

static void on_near(struct watch *w)
{
	struct passage *c = (struct passage *)((char *)w - offsetof(struct passage, pair.near));

	/* A program that has closed its end already may have sent something. */
	if (c->state == RELAYING)
		run(c);
}

static void on_far(struct watch *w)
{
	run((struct passage *)((char *)w - offsetof(struct passage, pair.far)));
}

static void ask(struct passage *c)
{
	struct unix_sockets *u = c->all;
	struct link_message m = { .type = LINK_SOCKET, .value = c->listener->number, .query = ++u->last_query };
	ssize_t r = u->connector.fd < 0 ? -EPIPE : fd_pass_send(u->connector.fd, &m, sizeof(m), NULL, 0);

	c->state = ASKED;
	c->query = m.query;
	if (r < 0)
		end(c, r == -EAGAIN ? EGRESS_LIMIT : EGRESS_UNREACHABLE);
}

static void on_again(uv_timer_t *timer)
{
	struct unix_sockets *u = timer->data;
	struct passage *c = TAILQ_FIRST(&u->passages), *next;

	for (; c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state == FULL)
			ask(c);
	}
}

/* fd: taken, or -errno. */
static void answered(struct passage *c, int fd)
{
	struct unix_sockets *u = c->all;

	if (fd == -EAGAIN) {
		c->state = FULL;
		if (!uv_is_active((uv_handle_t *)&u->again))
			uv_timer_start(&u->again, on_again, AGAIN, 0);
		return;
	}
	if (fd < 0) {
		end(c, EGRESS_UNREACHABLE);
		return;
	}
	if (poller_add(&u->poller, &c->pair.far, fd, on_far) < 0) {
		end(c, EGRESS_LIMIT);
		return;
	}
	c->state = RELAYING;
	run(c);
}

static void connector_gone(struct unix_sockets *u, int err)
{
	struct passage *c = TAILQ_FIRST(&u->passages), *next;

	poller_close_watch(&u->poller, &u->connector);
	log_warning("the connector of Unix sockets is gone (%s)", err < 0 ? strerror(-err) : "closed");
	for (; c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state == ASKED)
			end(c, EGRESS_UNREACHABLE);
	}
}

static void on_connector(struct watch *w)
{
	struct unix_sockets *u = (struct unix_sockets *)((char *)w - offsetof(struct unix_sockets, connector));

	while (u->connector.fd >= 0) {
		struct link_message m;
		int fd = -1;
		size_t n_fds = 1;
		ssize_t n = fd_pass_receive(u->connector.fd, &m, sizeof(m), &fd, &n_fds);
		struct passage *c = TAILQ_FIRST(&u->passages);

		if (n == -EAGAIN)
			return;
		if (n != sizeof(m) || m.type != LINK_SOCKET || n_fds != (m.value == 0)) {
			if (n > 0 && n_fds > 0)
				fd_close(fd);
			connector_gone(u, n < 0 ? (int)n : n == 0 ? 0 : -EBADMSG);
			return;
		}
		while (c && (c->state != ASKED || c->query != m.query))
			c = TAILQ_NEXT(c, link);
		if (c)
			answered(c, n_fds > 0 ? fd : m.value);
		else if (n_fds > 0)
			fd_close(fd);
	}
}

static void on_owner(void *data, uint32_t pid, const char *program)
{
	struct passage *c = data;

	c->owner = 0;
	c->event.pid = pid;
	snprintf(c->event.program, sizeof(c->event.program), "%s", program);
	ask(c);
}

static void serve(const struct listener *l, int fd)
{
	struct unix_sockets *u = l->all;
	struct passage *c = calloc(1, sizeof(*c));

	if (!c) {
		fd_close(fd);
		return;
	}
	c->all = u;
	c->listener = l;
	c->state = WHO;
	c->started = uv_hrtime();
	pair_init(&c->pair);
	TAILQ_INSERT_TAIL(&u->passages, c, link);
	u->n_passages++;
	if (poller_add(&u->poller, &c->pair.near, fd, on_near) < 0) {
		end(c, EGRESS_LIMIT);
		return;
	}
	c->owner = owner_ask_local(u->link, fd, on_owner, c);
	if (!c->owner)
		ask(c);
}

static void on_listener(struct watch *w)
{
	struct listener *l = (struct listener *)((char *)w - offsetof(struct listener, watch));

	for (int i = 0; l->all->n_passages < LIMIT_UNIX_CONNECTIONS; i++) {
		int fd;

		if (i == ACCEPTS_IN_A_TURN) {
			poller_again(&l->all->poller, w);
			return;
		}
		fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			serve(l, fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
}

int unix_sockets_add(struct unix_sockets *u, int listener, int32_t number, const char *path)
{
	struct listener *l = &u->listeners[u->n_listeners];
	int r = u->n_listeners < LIMIT_UNIX_SOCKETS ? fd_set_nonblock(listener, true) : -E2BIG;

	if (r == 0 && strlen(path) >= sizeof(l->path))
		r = -ENAMETOOLONG;
	if (r < 0) {
		fd_close(listener);
		return r;
	}
	l->all = u;
	l->number = number;
	memcpy(l->path, path, strlen(path) + 1);
	r = poller_add(&u->poller, &l->watch, listener, on_listener);
	if (r == 0)
		u->n_listeners++;
	return r;
}

static void closed(struct unix_sockets *u)
{
	if (--u->open == 0)
		free(u);
}

static void on_poller_closed(struct poller *poller)
{
	closed((struct unix_sockets *)((char *)poller - offsetof(struct unix_sockets, poller)));
}

static void on_timer_closed(uv_handle_t *handle)
{
	closed(handle->data);
}

int unix_sockets_open(uv_loop_t *loop, struct events *events, struct link *link, int connector,
		      struct unix_sockets **ret)
{
	struct unix_sockets *u = calloc(1, sizeof(*u));
	int r = u ? fd_set_nonblock(connector, true) : -ENOMEM;

	if (r == 0)
		r = poller_open(&u->poller, loop);
	if (r < 0) {
		fd_close(connector);
		free(u);
		return r;
	}
	u->events = events;
	u->link = link;
	u->connector = (struct watch)WATCH_INIT;
	TAILQ_INIT(&u->passages);
	uv_timer_init(loop, &u->again);
	u->again.data = u;
	u->open = 2;
	r = poller_add(&u->poller, &u->connector, connector, on_connector);
	if (r < 0) {
		unix_sockets_close(u);
		return r;
	}
	*ret = u;
	return 0;
}

void unix_sockets_close(struct unix_sockets *u)
{
	struct passage *c;

	if (!u)
		return;
	for (unsigned i = 0; i < u->n_listeners; i++)
		poller_close_watch(&u->poller, &u->listeners[i].watch);
	u->n_listeners = 0;
	while ((c = TAILQ_FIRST(&u->passages))) {
		if (c->state == RELAYING) {
			/* Whether or not the loop has come round to it. */
			c->pair.near.readable = true;
			(void)pair_run(&c->pair, u->scratch);
		}
		end(c, EGRESS_ALLOWED);
	}
	if (u->connector.fd >= 0)
		poller_close_watch(&u->poller, &u->connector);
	uv_close((uv_handle_t *)&u->again, on_timer_closed);
	poller_close(&u->poller, on_poller_closed);
}
