#include "daemon/session/publish.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/session/events.h"
#include "daemon/session/link.h"
#include "daemon/session/pair.h"
#include "daemon/session/peer_uid.h"
#include "daemon/session/tally.h"
#include "policy/egress.h"

/* Milliseconds in which refusals of one user at one port are told together. */
#define WINDOW 5000
#define LISTENERS_MAX (2 * LIMIT_PUBLISHED_PORTS)

/*
 *   ASKED       pid 1 was asked for a socket of .family
 *   CONNECTING  .pair.far is on its way to the program
 *   RELAYING    both ends are there
 */
enum state { ASKED, CONNECTING, RELAYING };

struct passage {
	struct grave grave;
	TAILQ_ENTRY(passage) link;
	struct publish *publish;
	enum state state;
	struct pair pair;
	uint32_t query;
	uint32_t uid;
	uint16_t family;
	uint16_t inside;
	uint64_t started; /* uv_hrtime() */
};

struct listener {
	struct watch watch;
	struct publish *publish;
	uint16_t inside;
};

struct publish {
	uint32_t uid;
	struct events *events;
	struct link *link;
	struct poller poller;
	struct tally *refused;
	struct listener listeners[LISTENERS_MAX];
	unsigned n_listeners;
	TAILQ_HEAD(, passage) passages;
	unsigned n_passages;
	uint32_t last_query;
	char scratch[RELAY_SCRATCH];
};

static void tell(const struct passage *c, uint32_t reason)
{
	const bool six = c->family == AF_INET6;
	struct session_connection e = { .via = VIA_PUBLISH,
					.allowed = reason == EGRESS_ALLOWED,
					.reason = reason,
					.rule = UINT32_MAX,
					.protocol = IPPROTO_TCP,
					.family = c->family,
					.port = c->inside,
					.peer_uid = c->uid,
					/* As everywhere, up is what leaves the session. */
					.bytes_up = c->pair.down.bytes,
					.bytes_down = c->pair.up.bytes,
					.duration_us = (uv_hrtime() - c->started) / 1000 };

	memcpy(e.address, six ? (const void *)&in6addr_loopback : (const void *)"\177\0\0\1", six ? 16 : 4);
	events_connection(c->publish->events, &e);
}

static void end(struct passage *c, uint32_t reason)
{
	struct publish *p = c->publish;

	tell(c, reason);
	pair_done(&c->pair, &p->poller);
	TAILQ_REMOVE(&p->passages, c, link);
	poller_bury(&p->poller, &c->grave);
	if (p->n_passages-- < LIMIT_PUBLISHED_CONNECTIONS)
		return;
	/* Some may have waited for this one to end. */
	for (unsigned i = 0; i < p->n_listeners; i++)
		poller_again(&p->poller, &p->listeners[i].watch);
}

static void ask(struct passage *c, uint16_t family)
{
	struct publish *p = c->publish;
	struct link_message m = { .type = LINK_SOCKET, .family = family };

	c->state = ASKED;
	c->family = family;
	c->query = m.query = ++p->last_query;
	if (link_send(p->link, &m) < 0)
		end(c, EGRESS_LIMIT);
}

static void on_near(struct watch *w);
static void on_far(struct watch *w);

static void run(struct passage *c)
{
	switch (pair_run(&c->pair, c->publish->scratch)) {
	case RELAY_DONE:
		end(c, EGRESS_ALLOWED);
		break;
	case RELAY_AGAIN:
		poller_again(&c->publish->poller, &c->pair.near);
		break;
	default:
		break;
	}
}

/* A program that listens on "localhost" may have got either family. */
static void refused(struct passage *c, int err)
{
	poller_close_watch(&c->publish->poller, &c->pair.far);
	if (c->family == AF_INET && err == ECONNREFUSED)
		ask(c, AF_INET6);
	else
		end(c, EGRESS_UNREACHABLE);
}

static void on_connected(struct passage *c)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (!c->pair.far.writable && !c->pair.far.hangup)
		return;
	if (getsockopt(c->pair.far.fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err != 0) {
		refused(c, err);
		return;
	}
	c->state = RELAYING;
	run(c);
}

static void on_far(struct watch *w)
{
	struct passage *c = (struct passage *)((char *)w - offsetof(struct passage, pair.far));

	if (c->state == CONNECTING)
		on_connected(c);
	else
		run(c);
}

static void on_near(struct watch *w)
{
	struct passage *c = (struct passage *)((char *)w - offsetof(struct passage, pair.near));

	if (c->state == RELAYING)
		run(c);
	else if (w->hangup) /* it did not wait */
		end(c, EGRESS_ALLOWED);
}

static int connect_inside(int fd, uint16_t family, uint16_t port)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	static const int on = 1;
	int r;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	r = family == AF_INET ? connect(fd, (const struct sockaddr *)&v4, sizeof(v4))
			      : connect(fd, (const struct sockaddr *)&v6, sizeof(v6));
	return r < 0 && errno != EINPROGRESS ? -errno : 0;
}

void publish_socket(struct publish *p, uint32_t query, int fd)
{
	struct passage *c = p ? TAILQ_FIRST(&p->passages) : NULL;
	int r;

	while (c && (c->state != ASKED || c->query != query))
		c = TAILQ_NEXT(c, link);
	if (!c) {
		if (fd >= 0)
			fd_close(fd);
		return;
	}
	if (fd < 0) {
		end(c, EGRESS_LIMIT);
		return;
	}
	c->state = CONNECTING;
	r = connect_inside(fd, c->family, c->inside);
	if (r < 0) {
		fd_close(fd);
		refused(c, -r);
	} else if (poller_add(&p->poller, &c->pair.far, fd, on_far) < 0) {
		end(c, EGRESS_LIMIT);
	}
}

static void refuse_user(struct publish *p, uint16_t inside, uint32_t uid)
{
	const struct session_connection c = { .via = VIA_PUBLISH,
					      .reason = EGRESS_OTHER_USER,
					      .rule = UINT32_MAX,
					      .protocol = IPPROTO_TCP,
					      .family = AF_INET,
					      .address = { 127, 0, 0, 1 },
					      .port = inside,
					      .peer_uid = uid };

	tally_add(p->refused, &c);
}

static void serve(struct publish *p, int fd, uint16_t inside)
{
	static const int on = 1;
	uint32_t uid = UINT32_MAX;
	struct passage *c;

	if (peer_uid(fd, &uid) < 0 || (uid != p->uid && uid != 0)) {
		refuse_user(p, inside, uid);
		fd_close(fd);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		fd_close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->publish = p;
	c->inside = inside;
	c->uid = uid;
	c->started = uv_hrtime();
	pair_init(&c->pair);
	TAILQ_INSERT_TAIL(&p->passages, c, link);
	p->n_passages++;
	if (poller_add(&p->poller, &c->pair.near, fd, on_near) < 0)
		end(c, EGRESS_LIMIT);
	else
		ask(c, AF_INET);
}

static void on_listener(struct watch *w)
{
	struct listener *l = (struct listener *)((char *)w - offsetof(struct listener, watch));
	struct publish *p = l->publish;

	while (p->n_passages < LIMIT_PUBLISHED_CONNECTIONS) {
		int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			serve(p, fd, l->inside);
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
}

int publish_add(struct publish *p, int listener, uint16_t inside)
{
	struct listener *l = &p->listeners[p->n_listeners];
	int r = p->n_listeners < LISTENERS_MAX ? fd_set_nonblock(listener, true) : -E2BIG;

	if (r < 0) {
		fd_close(listener);
		return r;
	}
	l->publish = p;
	l->inside = inside;
	r = poller_add(&p->poller, &l->watch, listener, on_listener);
	if (r == 0)
		p->n_listeners++;
	return r;
}

int publish_open(uv_loop_t *loop, uint32_t uid, struct events *events, struct link *link, struct publish **ret)
{
	struct publish *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->uid = uid;
	p->events = events;
	p->link = link;
	TAILQ_INIT(&p->passages);
	r = tally_new(loop, events, WINDOW, &p->refused);
	if (r == 0)
		r = poller_open(&p->poller, loop);
	if (r < 0) {
		tally_close(p->refused);
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void on_closed(struct poller *poller)
{
	free((char *)poller - offsetof(struct publish, poller));
}

void publish_close(struct publish *p)
{
	struct passage *c;

	if (!p)
		return;
	for (unsigned i = 0; i < p->n_listeners; i++)
		poller_close_watch(&p->poller, &p->listeners[i].watch);
	p->n_listeners = 0;
	while ((c = TAILQ_FIRST(&p->passages))) {
		if (c->state == RELAYING) {
			/* Whether or not the loop has come round to it. */
			c->pair.far.readable = true;
			(void)pair_run(&c->pair, p->scratch);
		}
		end(c, EGRESS_ALLOWED);
	}
	tally_close(p->refused);
	poller_close(&p->poller, on_closed);
}
