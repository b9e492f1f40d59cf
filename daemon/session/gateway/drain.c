/* After the program's end: what it has sent is brought to its peers, as the kernel does for a program without us. */
#include <linux/sockios.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "daemon/session/gateway/connection.h"

/* Is nothing of the client's on its way any more? Its socket must have been read to its end, and the peer's kernel must
 * have all: closing while the peer still sends would reset the connection, and what is not taken yet with it. */
static bool is_delivered(const struct connection *c)
{
	int unsent = 0;

	if (c->state == CONNECTION_LINGER || c->state == CONNECTION_CLOSED)
		return true;
	if ((c->state != CONNECTION_TUNNEL && c->state != CONNECTION_EXCHANGE) || !c->up.finished)
		return false;
	return c->up.failed || c->upstream.fd < 0 || ioctl(c->upstream.fd, SIOCOUTQ, &unsent) < 0 || unsent == 0;
}

static bool all_delivered(const struct gateway *g)
{
	const struct connection *c;

	TAILQ_FOREACH (c, &g->connections, link)
		if (!is_delivered(c))
			return false;
	return !g->tls || g->tls->service->is_delivered(g->tls);
}

static void end(struct gateway *g)
{
	deadline_clear(&g->deadlines, &g->drain.look);
	deadline_clear(&g->deadlines, &g->drain.limit);
	g->drain.done(g->drain.data);
}

static void on_limit(struct deadline *d)
{
	end((struct gateway *)((char *)d - offsetof(struct gateway, drain.limit)));
}

static void on_look(struct deadline *d)
{
	struct gateway *g = (struct gateway *)((char *)d - offsetof(struct gateway, drain.look));

	if (all_delivered(g))
		end(g);
	else
		deadline_set(&g->deadlines, d, DEADLINE_LOOK, on_look);
}

void gateway_drain(struct gateway *g, void (*done)(void *data), void *data)
{
	g->drain.done = done;
	g->drain.data = data;
	/* What the program connected just before its end may not have been accepted yet. */
	gateway_accept(g);
	deadline_set(&g->deadlines, &g->drain.limit, DEADLINE_DRAIN, on_limit);
	on_look(&g->drain.look);
}
