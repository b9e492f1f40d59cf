/* Both directions, untouched, until both have ended. */
#include "daemon/session/gateway/connection.h"

bool tunnel_begin(struct connection *c)
{
	/* A "200" of ours may still wait in .down: both relays go on as they are, from now on without a frame. */
	c->up.body = c->down.body = NULL;
	c->up.from = c->down.to = &c->client;
	c->up.to = c->down.from = &c->upstream;
	c->up.finished = c->down.finished = false;
	c->up.eof = c->down.eof = false;
	if (relay_push(&c->up, c->in.data, c->in.len) < 0) {
		audit_end(c, EGRESS_LIMIT);
		return connection_close(c);
	}
	buffer_done(&c->in);
	c->in_looked = 0;
	c->state = CONNECTION_TUNNEL;
	c->active_at = uv_now(c->gateway->loop);
	connection_may_idle(c);
	return true;
}

bool tunnel_step(struct connection *c)
{
	struct gateway *g = c->gateway;
	enum relay_result up, down;
	const char *excess;
	size_t excess_len;

	c->active_at = uv_now(g->loop);
	down = relay_run(&c->down, g->scratch, &excess, &excess_len);
	up = relay_run(&c->up, g->scratch, &excess, &excess_len);
	if (up == RELAY_DONE && down == RELAY_DONE) {
		bool unread = c->up.failed && !c->down.failed;

		audit_end(c, EGRESS_ALLOWED);
		/* Closing with bytes unread would reset the client, and the server's last words with it. */
		return unread ? connection_linger(c) : connection_close(c);
	}
	if (up == RELAY_AGAIN || down == RELAY_AGAIN)
		poller_again(&g->poller, &c->client);
	return false;
}
