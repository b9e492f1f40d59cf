#include "daemon/session/gateway/crowd.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/session/events.h"
#include "daemon/session/gateway/descriptor_reserve.h"
#include "daemon/session/gateway/gateway_state.h"

enum { LOG_EVERY_MS = 60000 };

bool crowd_has_room(const struct gateway *g, int fd)
{
	return g->n_connections < LIMIT_SESSION_CONNECTIONS + LIMIT_SESSION_REFUSALS && !descriptor_is_reserved(fd);
}

void crowd_log(struct gateway *g, int err)
{
	uint64_t now = uv_now(g->loop);

	if (g->crowd.logged_at != 0 && now - g->crowd.logged_at < LOG_EVERY_MS)
		return;
	g->crowd.logged_at = now ? now : 1;
	log_warning("%s%stoo many connections at once (%u are open): %s", g->session, g->session[0] ? ": " : "",
		    g->n_connections, err ? strerror(err) : "further ones are closed unanswered");
}

static void tell(struct gateway *g)
{
	const struct session_connection e = { .via = g->crowd.captured ? VIA_CAPTURE : VIA_HTTP,
					      .reason = EGRESS_LIMIT,
					      .rule = EGRESS_NO_RULE,
					      .generation = g->rules->generation,
					      .protocol = IPPROTO_TCP,
					      .count = g->crowd.count };

	if (g->crowd.count > 0)
		events_connection(g->events, &e);
	g->crowd.count = 0;
}

static void on_tell(struct deadline *d)
{
	tell((struct gateway *)((char *)d - offsetof(struct gateway, crowd.tell)));
}

void crowd_turn_away(struct gateway *g, int fd, bool captured)
{
	static const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	fd_close(fd);
	crowd_log(g, 0);
	g->crowd.captured = captured;
	if (g->crowd.count++ == 0)
		deadline_set(&g->deadlines, &g->crowd.tell, DEADLINE_PATIENCE, on_tell);
}

void crowd_close(struct gateway *g)
{
	deadline_clear(&g->deadlines, &g->crowd.tell);
	tell(g);
}
