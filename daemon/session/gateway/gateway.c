#include "daemon/session/gateway.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/session/gateway/capture.h"
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/crowd.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/keepalive.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/usage.h"
#include "daemon/session/tally.h"

enum { ACCEPTS_IN_A_TURN = 64, REPEATED_WINDOW = 10000 };

static void on_listener(struct watch *w);

static void on_retry(struct deadline *d)
{
	on_listener(&((struct listener *)((char *)d - offsetof(struct listener, retry)))->watch);
}

/* The address that the socket itself has. */
static void own_end(int fd, int family, struct address_port *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} own;
	socklen_t len = sizeof(own);

	memset(&own, 0, sizeof(own));
	*ret = (struct address_port){ .port = 0 };
	if (getsockname(fd, &own.any, &len) < 0 || own.any.sa_family != family)
		return;
	ret->port = ntohs(family == AF_INET ? own.in.sin_port : own.in6.sin6_port);
	if (family == AF_INET)
		memcpy(ret->address, &own.in.sin_addr, 4);
	else
		memcpy(ret->address, &own.in6.sin6_addr, 16);
}

static void serve(struct listener *l, int fd, const struct sockaddr *peer)
{
	struct gateway *g = l->gateway;
	struct address_port to = l->bound;
	bool redirected = l->captures && g->original_target(fd, l->family, to.address, &to.port) == 0;
	struct connection *c = NULL;
	uint32_t reason;

	if (!crowd_has_room(g, fd)) {
		crowd_turn_away(g, fd, l->captures);
		return;
	}
	c = connection_new(g, fd);
	if (!c) {
		crowd_turn_away(g, -1, l->captures);
		return;
	}
	audit_open(c, peer, &to);
	reason = admit_client(c);
	if (reason != EGRESS_ALLOWED) {
		c->answer = l->captures ? ANSWER_RESET : ANSWER_HTTP;
		if (l->captures)
			capture_judge(c, l->family, redirected ? &to : NULL, judge_look);
		audit_begin(c, l->captures ? VIA_CAPTURE : VIA_HTTP);
		if (refuse(c, reason))
			connection_step(c);
		return;
	}
	if (l->captures) {
		capture_start(c, l->family, redirected ? &to : NULL);
		return;
	}
	c->answer = ANSWER_HTTP;
	connection_start(c, CONNECTION_REQUEST);
}

/* True where trying again at once can help. */
static bool is_transient(int err)
{
	return err == EINTR || err == ECONNABORTED || err == EPROTO || err == EPERM;
}

static void on_listener(struct watch *w)
{
	struct listener *l = (struct listener *)((char *)w - offsetof(struct listener, watch));
	struct gateway *g = l->gateway;

	for (int i = 0; i < ACCEPTS_IN_A_TURN; i++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);
		int fd = accept4(w->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			serve(l, fd, (struct sockaddr *)&peer);
			continue;
		}
		if (is_transient(errno))
			continue;
		/* No descriptor or memory left: others must close first. Edge-triggered, so nothing spins meanwhile. */
		if (errno != EAGAIN) {
			crowd_log(g, errno);
			deadline_set(&g->deadlines, &l->retry, DEADLINE_ATTEMPT, on_retry);
		}
		return;
	}
	poller_again(&g->poller, w);
}

void gateway_accept(struct gateway *g)
{
	for (int i = 0; i < LISTENER_COUNT_GATEWAY; i++)
		if (g->listeners[i].watch.fd >= 0)
			on_listener(&g->listeners[i].watch);
}

static void part_closed(struct gateway *g)
{
	if (--g->open_parts > 0)
		return;
	buffer_done(&g->out);
	free(g);
}

static void on_timer_closed(uv_handle_t *h)
{
	part_closed((struct gateway *)((char *)((struct deadlines *)h->data) - offsetof(struct gateway, deadlines)));
}

static void on_poller_closed(struct poller *p)
{
	part_closed(p->data);
}

int gateway_open(uv_loop_t *loop, struct egress_rules *rules, struct names *names, struct events *events,
		 struct link *link, const struct gateway_listeners *listeners, struct gateway **ret)
{
	const int fds[LISTENER_COUNT_GATEWAY] = { listeners->proxy_v4, listeners->proxy_v6, listeners->capture_v4,
						  listeners->capture_v6 };
	static const int on = 1;
	struct gateway *g = calloc(1, sizeof(*g));
	int r = g ? poller_open(&g->poller, loop) : -ENOMEM;

	if (r < 0) {
		free(g);
		for (int i = 0; i < LISTENER_COUNT_GATEWAY; i++)
			fd_close(fds[i]);
		return r;
	}
	g->loop = loop;
	g->rules = rules;
	g->names = names;
	g->events = events;
	g->link = link;
	gateway_introduce(g, "", "isoctl run");
	g->original_target = capture_original_target;
	g->clock = admit_clock;
	budget_set_rules(&g->budget, rules);
	g->poller.data = g;
	g->out.max = 2 * LIMIT_HTTP_HEAD + RELAY_SCRATCH;
	g->open_parts = 2;
	TAILQ_INIT(&g->connections);
	ask_open(g);
	resolver_open(&g->resolver, loop, rules);
	resolver_open(&g->proxy_resolver, loop, NULL);
	deadlines_open(&g->deadlines, loop);
	r = tally_new(loop, events, REPEATED_WINDOW, &g->repeated);
	for (int i = 0; i < LISTENER_COUNT_GATEWAY; i++) {
		struct listener *l = &g->listeners[i];

		l->gateway = g;
		l->captures = i >= 2;
		l->family = i % 2 == 0 ? AF_INET : AF_INET6;
		l->watch.fd = -1;
		if (fds[i] < 0)
			continue;
		if (r == 0)
			r = fd_set_nonblock(fds[i], true);
		keepalive_set(fds[i]);
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		own_end(fds[i], l->family, &l->bound);
		if (r == 0)
			r = poller_add(&g->poller, &l->watch, fds[i], on_listener);
		else
			fd_close(fds[i]);
	}
	if (r < 0) {
		gateway_close(g);
		return r;
	}
	*ret = g;
	return 0;
}

void gateway_introduce(struct gateway *g, const char *session, const char *command)
{
	g->session = session;
	g->command = command;
}

void gateway_use_proxy(struct gateway *g, const struct egress_proxy *proxy, const char *auth)
{
	g->proxy = proxy;
	g->proxy_auth = auth;
	if (proxy->name)
		target_from_name(proxy->name, proxy->port, &g->proxy_target);
	else
		target_from_address(proxy->family, proxy->address, proxy->port, &g->proxy_target);
}

void gateway_use_tls(struct gateway *g, struct proxy_tls *tls)
{
	g->tls = tls;
}

void gateway_close(struct gateway *g)
{
	struct connection *c;

	deadline_clear(&g->deadlines, &g->drain.look);
	deadline_clear(&g->deadlines, &g->drain.limit);
	for (int i = 0; i < LISTENER_COUNT_GATEWAY; i++) {
		deadline_clear(&g->deadlines, &g->listeners[i].retry);
		poller_close_watch(&g->poller, &g->listeners[i].watch);
	}
	crowd_close(g);
	while ((c = TAILQ_FIRST(&g->connections))) {
		/* One that was still held was not let through. */
		audit_end(c, c->verdict.reason == EGRESS_ASKED && !c->verdict.allowed ? EGRESS_UNANSWERED
										      : EGRESS_ALLOWED);
		connection_drop(c);
	}
	ask_close(g);
	if (g->tls)
		g->tls->service->close(g->tls);
	deadline_clear(&g->deadlines, &g->usage.next);
	deadline_clear(&g->deadlines, &g->keepalive);
	if (g->budget.accounts[0].used[EGRESS_OUT] > 0)
		usage_tell(g);
	tally_close(g->repeated);
	hosts_done(&g->hosts);
	resolver_close(&g->resolver);
	resolver_close(&g->proxy_resolver);
	poller_close(&g->poller, on_poller_closed);
	deadlines_close(&g->deadlines, on_timer_closed);
}
