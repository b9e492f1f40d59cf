#ifndef ISOD_SESSION_NETWORK_H
#define ISOD_SESSION_NETWORK_H
/* All that serves the session's network, under one set of rules. */
#include <uv.h>

#include "daemon/session/dns/dns.h"
#include "daemon/session/gateway.h"
#include "daemon/session/nflog.h"
#include "daemon/session/ports.h"
#include "daemon/session/session.h"
#include "daemon/session/unix_sockets.h"
#include "daemon/wire/link_wire.h"

/* All NULL before the listeners have come, and after network_close(). */
struct network {
	struct gateway *gateway;
	struct dns *dns;
	struct nflog *nflog;
	struct ports *ports;               /* with the first port */
	struct unix_sockets *unix_sockets; /* with the connector */
};

/* setup, names, events and link must outlive it. 0, -EEXIST, or another -errno: the process ends soon, and descriptors
 * that nobody has taken go with it. */
int network_open(struct network *n, uv_loop_t *loop, const struct session_setup *setup, struct names *names,
		 struct events *events, struct link *link, const int fds[LISTENER_COUNT]);
/* A port that leads in or out (ports.h); may come before the listeners. listener: taken, also on failure. 0 or -errno.
 */
int network_add_port(struct network *n, uv_loop_t *loop, const struct session_setup *setup, struct events *events,
		     struct link *link, int listener, uint32_t way, uint16_t to);
/* The connector, or a listener that it knows the far end of (LINK_CONNECTOR, LINK_UNIX). fd: taken, also on failure. */
int network_add_unix(struct network *n, uv_loop_t *loop, struct events *events, struct link *link,
		     const struct link_message *m, int fd);
/* The gateway goes first: it reports its connections, and uses link and names until its handles are closed. */
void network_close(struct network *n);
/* Puts next, which is taken, into the place of live, which all parts look at; also before network_open(). Returns how
 * many connections were closed for it. */
unsigned network_set_rules(struct network *n, struct egress_rules *live, struct egress_rules *next);
/* To a question of the gateway's. */
void network_answered(struct network *n, uint32_t number, uint32_t answer);

#endif
