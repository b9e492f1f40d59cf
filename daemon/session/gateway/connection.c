#include "daemon/session/gateway/connection.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "daemon/session/events.h"
#include "daemon/session/gateway/holding.h"
#include "daemon/session/gateway/keepalive.h"
#include "daemon/session/gateway/proxy_call.h"
#include "daemon/session/gateway/refusal.h"

/* The largest hello with its record headers, or the largest head; and the read that found its end. */
enum { IN_MAX = LIMIT_TLS_HELLO + 8192, READ_STEP = 4096 };

static bool linger_step(struct connection *c);
static bool dial_step(struct connection *c);
static bool closed_step(struct connection *c);

static const connection_step_fn steps[CONNECTION_STATE_COUNT] = {
	[CONNECTION_REQUEST] = request_step, [CONNECTION_SOCKS] = socks_step,       [CONNECTION_PEEK] = peek_step,
	[CONNECTION_HELD] = held_step,       [CONNECTION_DIAL] = dial_step,         [CONNECTION_PROXY] = proxy_step,
	[CONNECTION_FIRST] = first_step,     [CONNECTION_EXCHANGE] = exchange_step, [CONNECTION_TUNNEL] = tunnel_step,
	[CONNECTION_REFUSED] = refused_step, [CONNECTION_LINGER] = linger_step,     [CONNECTION_CLOSED] = closed_step,
};

void connection_step(struct connection *c)
{
	while (steps[c->state](c))
		;
}

static void on_client(struct watch *w)
{
	connection_step((struct connection *)((char *)w - offsetof(struct connection, client)));
}

static void on_upstream(struct watch *w)
{
	connection_step((struct connection *)((char *)w - offsetof(struct connection, upstream)));
}

struct connection *connection_new(struct gateway *g, int fd)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c) {
		fd_close(fd);
		return NULL;
	}
	c->gateway = g;
	c->upstream.fd = -1;
	c->in.max = IN_MAX;
	relay_init(&c->up, &c->client, &c->upstream, NULL);
	relay_init(&c->down, &c->upstream, &c->client, NULL);
	c->verdict.rule = UINT32_MAX;
	if (poller_add(&g->poller, &c->client, fd, on_client) < 0) {
		free(c);
		return NULL;
	}
	/* A new socket takes bytes; whether it has some, the first event says. */
	c->client.writable = true;
	c->client.is_sole = true;
	TAILQ_INSERT_TAIL(&g->connections, c, link);
	g->n_connections++;
	keepalive_soon(g);
	return c;
}

void connection_start(struct connection *c, enum connection_state state)
{
	c->state = (uint8_t)state;
	connection_must_say(c);
}

void connection_close_upstream(struct connection *c)
{
	dial_free(c->dial);
	c->dial = NULL;
	poller_close_watch(&c->gateway->poller, &c->upstream);
	if (c->tls)
		c->gateway->tls->service->leave(c->tls);
	c->tls = NULL;
	c->audit.family = 0;
	admit_release(c);
	c->by_proxy = false;
	c->has_keepalive = false;
}

static void bury(struct connection *c)
{
	audit_done(c);
	deadline_clear(&c->gateway->deadlines, &c->deadline);
	TAILQ_REMOVE(&c->gateway->connections, c, link);
	c->buried = true;
	poller_bury(&c->gateway->poller, &c->grave);
}

static void on_audit_deadline(struct deadline *d)
{
	bury((struct connection *)((char *)d - offsetof(struct connection, deadline)));
}

bool connection_close(struct connection *c)
{
	struct gateway *g = c->gateway;

	if (c->state != CONNECTION_CLOSED) {
		c->state = CONNECTION_CLOSED;
		g->n_connections--;
		ask_release(c);
		connection_close_upstream(c);
		poller_close_watch(&g->poller, &c->client);
		relay_done(&c->up);
		relay_done(&c->down);
		exchange_free(c->exchange);
		c->exchange = NULL;
		buffer_done(&c->in);
		holding_count(c);
		deadline_clear(&g->deadlines, &c->deadline);
		if (audit_is_waiting(c)) {
			deadline_set(&g->deadlines, &c->deadline, DEADLINE_AUDIT, on_audit_deadline);
			return false;
		}
	}
	bury(c);
	return false;
}

void connection_drop(struct connection *c)
{
	connection_close(c);
	if (!c->buried)
		bury(c);
}

static bool closed_step(struct connection *c)
{
	(void)c;
	return false;
}

ssize_t connection_fill(struct connection *c)
{
	size_t room;
	ssize_t n;

	if (!c->client.readable)
		return 0;
	if (c->in.len == IN_MAX)
		return -EMSGSIZE;
	room = IN_MAX - c->in.len < READ_STEP ? IN_MAX - c->in.len : READ_STEP;
	if (c->in.len == c->in.size && (buffer_reserve(&c->in, room) < 0 || !holding_count(c)))
		return -ENOMEM;
	room = c->in.size - c->in.len;
	n = recv(c->client.fd, c->in.data + c->in.len, room, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		c->client.readable = errno == EINTR;
		if (c->client.readable)
			poller_again(&c->gateway->poller, &c->client);
		return 0;
	}
	if (n <= 0)
		return -ENODATA;
	if ((size_t)n < room && !c->client.peer_shut)
		c->client.readable = false;
	c->in.len += (size_t)n;
	return n;
}

static void on_silence(struct deadline *d)
{
	struct connection *c = (struct connection *)((char *)d - offsetof(struct connection, deadline));

	if (c->state == CONNECTION_LINGER) {
		connection_close(c);
		return;
	}
	if (refuse(c, EGRESS_TIMEOUT))
		connection_step(c);
}

static void on_idle_deadline(struct deadline *d)
{
	struct connection *c = (struct connection *)((char *)d - offsetof(struct connection, deadline));

	/* Moving a deadline with every byte would cost more than one look in an hour. */
	if (c->active_at + c->gateway->deadlines.milliseconds[DEADLINE_IDLE] > uv_now(c->gateway->loop)) {
		connection_may_idle(c);
		return;
	}
	audit_end(c, EGRESS_ALLOWED);
	connection_close(c);
}

void connection_must_say(struct connection *c)
{
	deadline_set(&c->gateway->deadlines, &c->deadline, DEADLINE_SAY, on_silence);
}

void connection_may_idle(struct connection *c)
{
	deadline_set(&c->gateway->deadlines, &c->deadline, DEADLINE_IDLE, on_idle_deadline);
}

void connection_is_live(struct connection *c)
{
	c->active_at = uv_now(c->gateway->loop);
	deadline_clear(&c->gateway->deadlines, &c->deadline);
}

/* Way out */

static void on_dial(void *data)
{
	struct connection *c = data;

	if (c->then(c))
		connection_step(c);
}

bool connection_resolve(struct connection *c, connection_step_fn then)
{
	struct gateway *g = c->gateway;
	uint32_t reason;

	connection_close_upstream(c);
	deadline_clear(&g->deadlines, &c->deadline);
	reason = admit_target(c);
	if (reason != EGRESS_ALLOWED)
		return refuse(c, reason);
	c->state = CONNECTION_DIAL;
	c->then = then;
	c->by_proxy = proxy_call_takes(c);
	c->dial = dial_new(c->by_proxy ? &g->proxy_resolver : &g->resolver, &g->poller, &g->deadlines,
			   c->by_proxy ? &g->proxy_target : &c->target, on_dial, c);
	if (!c->dial)
		return refuse(c, EGRESS_LIMIT);
	return dial_resolve(c->dial) == DIAL_PENDING ? false : then(c);
}

/* Called again and again until .dial has come to an end. */
static bool connect_on(struct connection *c)
{
	uint8_t family, address[16];

	switch (dial_state(c->dial)) {
	case DIAL_RESOLVED:
		return dial_connect(c->dial) == DIAL_PENDING ? false : connect_on(c);
	case DIAL_CONNECTED:
		dial_take(c->dial, &c->upstream, on_upstream, &family, address);
		if (!c->by_proxy)
			audit_dialled(c, family, address);
		events_allowed(c->gateway->events, c->target.name, c->target.port);
		dial_free(c->dial);
		c->dial = NULL;
		return true;
	case DIAL_PENDING:
	case DIAL_FAILED:
		break;
	}
	return refuse(c, c->by_proxy ? (uint32_t)EGRESS_PROXY_UNREACHABLE : dial_reason(c->dial));
}

int connection_secure(struct connection *c)
{
	struct gateway *g = c->gateway;

	if (!g->tls)
		return 0;
	/* What is .upstream afterwards is no socket of the network. */
	keepalive_set(c->upstream.fd);
	c->has_keepalive = true;
	return g->tls->service->wrap(g->tls, &g->poller, &g->deadlines, &c->upstream, on_upstream, &c->tls);
}

/* The step that connection_connect() was given is kept behind the one that gets us there. */
static bool connected(struct connection *c)
{
	if (!connect_on(c))
		return false;
	/* A refusal has changed the state as well. */
	if (c->upstream.fd < 0)
		return true;
	return c->by_proxy ? proxy_call_begin(c) : c->connected(c);
}

bool connection_connect(struct connection *c, connection_step_fn then)
{
	if (c->upstream.fd >= 0)
		return then(c);
	c->connected = then;
	if (!c->dial)
		return connection_resolve(c, connected);
	c->state = CONNECTION_DIAL;
	c->then = connected;
	deadline_clear(&c->gateway->deadlines, &c->deadline);
	return connected(c);
}

/* The client is left alone meanwhile; only its going away matters. */
static bool dial_step(struct connection *c)
{
	if (!c->client.hangup)
		return false;
	audit_end(c, EGRESS_ALLOWED);
	return connection_close(c);
}

/* Way down */

bool connection_linger(struct connection *c)
{
	connection_close_upstream(c);
	c->state = CONNECTION_LINGER;
	/* What remains of the relay is to flush; the end of its input shuts the client's side. */
	c->down.body = NULL;
	c->down.eof = true;
	c->down.finished = c->down.failed;
	deadline_set(&c->gateway->deadlines, &c->deadline, DEADLINE_LINGER, on_silence);
	return true;
}

static bool linger_step(struct connection *c)
{
	const char *excess;
	size_t excess_len;

	if (relay_run(&c->down, c->gateway->scratch, &excess, &excess_len) != RELAY_DONE)
		return false;
	if (c->down.failed)
		return connection_close(c);
	for (int i = 0; i < 16 && c->client.readable; i++) {
		ssize_t n = recv(c->client.fd, c->gateway->scratch, RELAY_SCRATCH, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return connection_close(c);
		if (n < 0)
			c->client.readable = errno == EINTR;
	}
	if (c->client.readable)
		poller_again(&c->gateway->poller, &c->client);
	return false;
}
