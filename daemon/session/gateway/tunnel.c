/* Tunnels: how one that was asked for is opened, then both directions, untouched, until both have ended. */
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/holding.h"
#include "daemon/session/gateway/proxy_call.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/socks_message.h"
#include "daemon/session/gateway/usage.h"

static void established(struct connection *c)
{
	static const char text[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	uint8_t reply[SOCKS_REPLY_LEN];

	if (c->answer == ANSWER_SOCKS) {
		socks_message_reply(SOCKS_GRANTED, reply);
		relay_push(&c->down, reply, sizeof(reply));
	} else {
		relay_init(&c->down, &c->upstream, &c->client, NULL);
		relay_push(&c->down, text, sizeof(text) - 1);
	}
	c->down.bytes = 0;
	c->bound = true;
	c->answer = ANSWER_CLOSE;
	/* A tunnel that stays quiet from here on owns no buffer. */
	if (c->in.len == 0)
		buffer_done(&c->in);
	holding_count(c);
}

static bool on_connected(struct connection *c)
{
	established(c);
	c->state = CONNECTION_FIRST;
	connection_may_idle(c);
	return true;
}

static bool speaks_first(const struct connection *c)
{
	return c->target.port == 443 || c->target.port == 80;
}

static bool peek(struct connection *c)
{
	established(c);
	c->state = CONNECTION_PEEK;
	connection_must_say(c);
	return true;
}

static bool on_resolved(struct connection *c)
{
	if (dial_state(c->dial) != DIAL_RESOLVED)
		return refuse(c, dial_reason(c->dial));
	return speaks_first(c) ? peek(c) : connection_connect(c, on_connected);
}

bool tunnel_open(struct connection *c)
{
	/* The upstream proxy alone knows whether there is a way: it is asked while the client can be told. */
	if (proxy_call_takes(c)) {
		connection_close_upstream(c);
		return connection_connect(c, speaks_first(c) ? peek : on_connected);
	}
	/* Resolved before the client is told, while it can still be told what is wrong; nothing but a DNS query goes
	 * out. */
	return connection_resolve(c, on_resolved);
}

bool tunnel_begin(struct connection *c)
{
	struct gateway *g = c->gateway;
	uint64_t left;
	size_t n;

	/* A "200" of ours may still wait in .down: both relays go on as they are, from now on without a frame. */
	c->up.body = c->down.body = NULL;
	c->up.from = c->down.to = &c->client;
	c->up.to = c->down.from = &c->upstream;
	c->up.finished = c->down.finished = false;
	c->up.eof = c->down.eof = false;
	admit_meter(c);
	left = budget_left(&g->budget, c->accounts, EGRESS_OUT);
	n = c->in.len < left ? c->in.len : (size_t)left;
	relay_take(&c->up, n);
	if (relay_push(&c->up, c->in.data, n) < 0) {
		audit_end(c, EGRESS_LIMIT);
		return connection_close(c);
	}
	if (n < c->in.len)
		return admit_exceeded(c, EGRESS_OUT, false);
	buffer_done(&c->in);
	c->in_looked = 0;
	c->state = CONNECTION_TUNNEL;
	connection_is_live(c);
	return true;
}

bool tunnel_step(struct connection *c)
{
	struct gateway *g = c->gateway;
	enum relay_result up, down;
	const char *excess;
	size_t excess_len;

	c->active_at = uv_now(g->loop);
	holding_bound_relays(c);
	/* Both are closed once both directions have ended; a client of which nothing is left unread takes no harm. */
	c->down.is_last = !c->tls && c->up.finished && !c->up.failed;
	down = relay_run(&c->down, g->scratch, &excess, &excess_len);
	c->up.is_last = !c->tls && c->down.finished && !c->down.failed;
	up = relay_run(&c->up, g->scratch, &excess, &excess_len);
	usage_soon(g);
	if (up == RELAY_SPENT || down == RELAY_SPENT)
		return admit_exceeded(c, up == RELAY_SPENT ? EGRESS_OUT : EGRESS_IN, false);
	if (up == RELAY_DONE && down == RELAY_DONE) {
		bool unread = c->up.failed && !c->down.failed;

		audit_end(c, EGRESS_ALLOWED);
		/* Closing with bytes unread would reset the client, and the server's last words with it. */
		return unread ? connection_linger(c) : connection_close(c);
	}
	holding_count(c);
	if (up == RELAY_AGAIN || down == RELAY_AGAIN)
		poller_again(&g->poller, &c->client);
	/* One side has said all it will. */
	if (c->up.finished != c->down.finished && !c->deadline.set)
		connection_may_idle(c);
	return false;
}
