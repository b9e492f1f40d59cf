#include "daemon/session/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/session/events.h"
#include "daemon/session/link.h"
#include "daemon/session/owner.h"
#include "daemon/session/pair.h"
#include "daemon/session/peer_uid.h"
#include "daemon/session/tally.h"
#include "daemon/wire/plan.h"
#include "policy/egress.h"

/* Milliseconds in which refusals of one user at one port are told together. */
#define WINDOW 5000
#define LISTENERS_MAX (2 * LIMIT_PLAN_PORTS)
enum { ACCEPTS_IN_A_TURN = 64 };

/*
 *   ASKED       in: pid 1 was asked for a socket of .family; out: whose the near end is, while it is there
 *   CONNECTING  .pair.far is on its way
 *   RELAYING    both ends are there
 */
enum state { ASKED, CONNECTING, RELAYING };

struct passage {
	struct grave grave;
	TAILQ_ENTRY(passage) link;
	struct ports *ports;
	enum state state;
	struct pair pair;
	uint32_t way; /* enum plan_port_way */
	uint32_t query;
	uint32_t uid;   /* in */
	uint32_t owner; /* out: open question of owner.h, or 0 */
	uint16_t family;
	uint16_t to;
	uint64_t started; /* uv_hrtime() */
	struct session_connection event;
};

struct listener {
	struct watch watch;
	struct ports *ports;
	uint32_t way;
	uint16_t to;
};

struct ports {
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

static void put_event(struct passage *c, uint32_t reason)
{
	const bool six = c->family == AF_INET6, in = c->way == PLAN_PORT_IN;
	struct session_connection *e = &c->event;

	e->via = in ? VIA_PUBLISH : VIA_HOST_PORT;
	e->allowed = reason == EGRESS_ALLOWED;
	e->reason = reason;
	e->rule = UINT32_MAX;
	e->protocol = IPPROTO_TCP;
	e->family = c->family;
	e->port = c->to;
	e->peer_uid = c->uid;
	/* As everywhere, up is what leaves the session. */
	e->bytes_up = in ? c->pair.down.bytes : c->pair.up.bytes;
	e->bytes_down = in ? c->pair.up.bytes : c->pair.down.bytes;
	e->duration_us = (uv_hrtime() - c->started) / 1000;
	memcpy(e->address, six ? (const void *)&in6addr_loopback : (const void *)"\177\0\0\1", six ? 16 : 4);
	if (!in)
		snprintf(e->name, sizeof(e->name), "localhost");
}

static void end(struct passage *c, uint32_t reason)
{
	struct ports *p = c->ports;

	if (c->owner)
		owner_forget(p->link, c->owner);
	put_event(c, reason);
	events_connection(p->events, &c->event);
	pair_done(&c->pair, &p->poller);
	TAILQ_REMOVE(&p->passages, c, link);
	poller_bury(&p->poller, &c->grave);
	if (p->n_passages-- < LIMIT_PUBLISHED_CONNECTIONS)
		return;
	/* Some may have waited for this one to end. */
	for (unsigned i = 0; i < p->n_listeners; i++)
		poller_again(&p->poller, &p->listeners[i].watch);
}

static void on_near(struct watch *w);
static void on_far(struct watch *w);
static void connect_far(struct passage *c, int fd);

/* in: a socket of the other side comes from there. */
static void reach(struct passage *c, uint16_t family)
{
	struct ports *p = c->ports;
	struct link_message m = { .type = LINK_SOCKET, .family = family };

	c->family = family;
	if (c->way == PLAN_PORT_OUT) {
		connect_far(c, socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
		return;
	}
	c->state = ASKED;
	c->query = m.query = ++p->last_query;
	if (link_send(p->link, &m) < 0)
		end(c, EGRESS_LIMIT);
}

static void run(struct passage *c)
{
	switch (pair_run(&c->pair, c->ports->scratch)) {
	case RELAY_DONE:
		end(c, EGRESS_ALLOWED);
		break;
	case RELAY_AGAIN:
		poller_again(&c->ports->poller, &c->pair.near);
		break;
	default:
		break;
	}
}

/* A program that listens on "localhost" may have got either family. */
static void refused(struct passage *c, int err)
{
	poller_close_watch(&c->ports->poller, &c->pair.far);
	if (c->family == AF_INET && err == ECONNREFUSED)
		reach(c, AF_INET6);
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

static int connect_loopback(int fd, uint16_t family, uint16_t port)
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

/* fd: taken; negative: there is none. */
static void connect_far(struct passage *c, int fd)
{
	int r;

	if (fd < 0) {
		end(c, EGRESS_LIMIT);
		return;
	}
	c->state = CONNECTING;
	r = connect_loopback(fd, c->family, c->to);
	if (r < 0) {
		fd_close(fd);
		refused(c, -r);
	} else if (poller_add(&c->ports->poller, &c->pair.far, fd, on_far) < 0) {
		end(c, EGRESS_LIMIT);
	}
}

void ports_socket(struct ports *p, uint32_t query, int fd)
{
	struct passage *c = p ? TAILQ_FIRST(&p->passages) : NULL;

	while (c && (c->way != PLAN_PORT_IN || c->state != ASKED || c->query != query))
		c = TAILQ_NEXT(c, link);
	if (c)
		connect_far(c, fd);
	else if (fd >= 0)
		fd_close(fd);
}

static void refuse_user(struct ports *p, uint16_t to, uint32_t uid)
{
	const struct session_connection c = { .via = VIA_PUBLISH,
					      .reason = EGRESS_OTHER_USER,
					      .rule = UINT32_MAX,
					      .protocol = IPPROTO_TCP,
					      .family = AF_INET,
					      .address = { 127, 0, 0, 1 },
					      .port = to,
					      .peer_uid = uid };

	tally_add(p->refused, &c);
}

static bool admits(struct ports *p, const struct listener *l, int fd, uint32_t *ret_uid)
{
	*ret_uid = UINT32_MAX;
	if (peer_uid(fd, ret_uid) == 0 && (*ret_uid == p->uid || *ret_uid == 0))
		return true;
	refuse_user(p, l->to, *ret_uid);
	return false;
}

static void on_owner(void *data, uint32_t pid, const char *program)
{
	struct passage *c = data;

	c->owner = 0;
	c->event.pid = pid;
	snprintf(c->event.program, sizeof(c->event.program), "%s", program);
	reach(c, AF_INET);
}

static uint32_t ask_owner(struct passage *c, const struct sockaddr *peer)
{
	uint8_t address[16] = { 127, 0, 0, 1 };

	/* The numbers of a lent port are the same on both sides. */
	if (peer->sa_family == AF_INET6)
		memcpy(address, &in6addr_loopback, sizeof(address));
	return owner_ask(c->ports->link, peer, address, c->to, on_owner, c);
}

static void serve(struct ports *p, const struct listener *l, int fd, const struct sockaddr *peer)
{
	static const int on = 1;
	uint32_t uid = 0;
	struct passage *c;

	if (l->way == PLAN_PORT_IN && !admits(p, l, fd, &uid)) {
		fd_close(fd);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		fd_close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->ports = p;
	c->way = l->way;
	c->to = l->to;
	c->uid = uid;
	c->started = uv_hrtime();
	pair_init(&c->pair);
	TAILQ_INSERT_TAIL(&p->passages, c, link);
	p->n_passages++;
	if (l->way == PLAN_PORT_OUT)
		c->owner = ask_owner(c, peer);
	if (poller_add(&p->poller, &c->pair.near, fd, on_near) < 0)
		end(c, EGRESS_LIMIT);
	else if (!c->owner)
		reach(c, AF_INET);
}

static void on_listener(struct watch *w)
{
	struct listener *l = (struct listener *)((char *)w - offsetof(struct listener, watch));
	struct ports *p = l->ports;

	for (int i = 0; p->n_passages < LIMIT_PUBLISHED_CONNECTIONS; i++) {
		struct sockaddr_in6 peer = { 0 };
		socklen_t len = sizeof(peer);
		int fd;

		/* Who is turned away at once counts nowhere: somebody who begins ever more must not keep the rest
		 * waiting. */
		if (i == ACCEPTS_IN_A_TURN) {
			poller_again(&p->poller, w);
			return;
		}
		fd = accept4(w->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			serve(p, l, fd, (const struct sockaddr *)&peer);
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
}

int ports_add(struct ports *p, int listener, uint32_t way, uint16_t to)
{
	struct listener *l = &p->listeners[p->n_listeners];
	int r = p->n_listeners < LISTENERS_MAX ? fd_set_nonblock(listener, true) : -E2BIG;

	if (r < 0) {
		fd_close(listener);
		return r;
	}
	l->ports = p;
	l->way = way;
	l->to = to;
	r = poller_add(&p->poller, &l->watch, listener, on_listener);
	if (r == 0)
		p->n_listeners++;
	return r;
}

int ports_open(uv_loop_t *loop, uint32_t uid, struct events *events, struct link *link, struct ports **ret)
{
	struct ports *p = calloc(1, sizeof(*p));
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
	free((char *)poller - offsetof(struct ports, poller));
}

void ports_close(struct ports *p)
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
