#ifndef ISOD_SESSION_GATEWAY_STATE_H
#define ISOD_SESSION_GATEWAY_STATE_H
/* The gateway as its own files see it. */
#include "base/buffer.h"
#include "daemon/session/gateway.h"
#include "daemon/session/gateway/ask.h"
#include "daemon/session/gateway/budget.h"
#include "daemon/session/gateway/deadline.h"
#include "daemon/session/gateway/hosts.h"
#include "daemon/session/gateway/poller.h"
#include "daemon/session/gateway/proxy_tls.h"
#include "daemon/session/gateway/relay.h"
#include "daemon/session/gateway/resolve.h"

struct connection;
TAILQ_HEAD(connection_list, connection);

struct address_port {
	uint8_t address[16];
	uint16_t port;
};

/* Where the client of a captured connection meant to go. 0 or -errno. */
typedef int (*original_target_fn)(int fd, int family, uint8_t ret_address[16], uint16_t *ret_port);

enum { LISTENER_COUNT_GATEWAY = 4 };

struct listener {
	struct watch watch;
	struct gateway *gateway;
	struct deadline retry;
	int family;
	bool captures;
	struct address_port bound; /* what its clients have connected to, those that were redirected aside */
};

/* After the program's end, until all has arrived (drain.c). */
struct drain {
	struct deadline look;
	struct deadline limit;
	void (*done)(void *data);
	void *data;
};

/* What isod-control was told of the budget last (usage.c). */
struct usage {
	struct deadline next;
	uint64_t told; /* the session's bytes in both directions */
};

/* Connections that were closed unanswered (crowd.c). */
struct crowd {
	struct deadline tell;
	uint64_t count;     /* that nobody was told of yet */
	uint64_t logged_at; /* uv_now(), 0: never */
	bool captured;      /* the last one */
};

struct gateway {
	uv_loop_t *loop;
	struct egress_rules *rules; /* nothing but .spent is changed here */
	struct names *names;
	struct events *events;
	struct link *link;
	const char *session;                /* id, for refusals; "" */
	const char *command;                /* whose --allow-domain opens the way: "isoctl run" */
	original_target_fn original_target; /* replaced by tests, which have no NAT */
	struct poller poller;
	struct deadlines deadlines;
	struct resolver resolver;
	uint64_t (*clock)(void); /* ns; replaced by tests */
	struct budget budget;
	struct hosts hosts;
	struct rate rate; /* of new connections, all hosts together */
	struct usage usage;
	struct deadline keepalive;
	struct tally *repeated;           /* refusals that a program can cause without end */
	const struct egress_proxy *proxy; /* NULL: everything is connected to directly */
	const char *proxy_auth;           /* value of Proxy-Authorization; NULL */
	struct proxy_tls *tls;            /* to the proxy; NULL: none */
	struct target proxy_target;
	struct resolver proxy_resolver;
	struct drain drain;
	struct listener listeners[LISTENER_COUNT_GATEWAY];
	struct connection_list connections;
	unsigned n_connections; /* with a socket */
	size_t held;            /* holding.c */
	struct crowd crowd;
	struct asking asking;
	unsigned open_parts;
	struct buffer out;           /* heads are built here */
	char scratch[RELAY_SCRATCH]; /* bytes under way, within one callback */
};

/* Judges every connection by the rules and budgets of now; ends those that do not fit. Returns how many. */
unsigned gateway_rejudge(struct gateway *g);
/* Takes on what waits at the listeners. */
void gateway_accept(struct gateway *g);

#endif
