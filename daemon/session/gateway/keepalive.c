#include "daemon/session/gateway/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "daemon/session/gateway/connection.h"

void keepalive_set(int fd)
{
	static const int on = 1, idle = 60, interval = 20, count = 6;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static void on_minute(struct deadline *d)
{
	struct gateway *g = (struct gateway *)((char *)d - offsetof(struct gateway, keepalive));
	struct connection *c;

	TAILQ_FOREACH (c, &g->connections, link) {
		if (c->upstream.fd >= 0 && !c->has_keepalive)
			keepalive_set(c->upstream.fd);
		c->has_keepalive = c->upstream.fd >= 0;
	}
	if (!TAILQ_EMPTY(&g->connections))
		keepalive_soon(g);
}

void keepalive_soon(struct gateway *g)
{
	if (!g->keepalive.set)
		deadline_set(&g->deadlines, &g->keepalive, DEADLINE_KEEPALIVE, on_minute);
}
