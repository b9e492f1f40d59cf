#include "daemon/session/gateway/holding.h"

#include "base/limits.h"
#include "daemon/session/gateway/connection.h"

bool holding_count(struct connection *c)
{
	struct gateway *g = c->gateway;
	size_t now = c->in.size + exchange_size(c->exchange) + c->up.pending_size + c->down.pending_size;

	g->held += now - c->held;
	c->held = now;
	return g->held <= LIMIT_SESSION_BUFFERS || now <= LIMIT_CONNECTION_BUFFERS;
}

void holding_bound_relays(struct connection *c)
{
	c->up.tight = c->down.tight = c->gateway->held > LIMIT_SESSION_BUFFERS;
}
