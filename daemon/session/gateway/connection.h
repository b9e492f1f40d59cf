#ifndef ISOD_SESSION_GATEWAY_CONNECTION_H
#define ISOD_SESSION_GATEWAY_CONNECTION_H
/* One client connection, from accept to the audit event. */
#include "daemon/session/gateway/admit.h"
#include "daemon/session/gateway/audit.h"
#include "daemon/session/gateway/dial.h"
#include "daemon/session/gateway/gateway_state.h"
#include "daemon/session/gateway/relay.h"
#include "daemon/session/gateway/target.h"

/*
 * What a connection is waiting for. In every state but TUNNEL and EXCHANGE nothing of the client's is on its way out.
 *
 *   REQUEST    a complete HTTP head in .in. Upstream: none, or one kept for the same target.
 *   SOCKS      greeting and request of SOCKS5 in .in, .socks says which. Upstream: none.
 *   PEEK       the first bytes of a client that must speak first (ports 80 and 443). Upstream: none, or what the
 *              upstream proxy has connected.
 *   HELD       the answer of the session's owner (ask.h); the client is not read. .again goes on. Upstream: none.
 *   DIAL       .dial; the client is not read. .then goes on.
 *   PROXY      the upstream proxy's answer; the client is not read. Upstream: connected to it. .connected goes on.
 *   FIRST      first bytes of either side on another port. Upstream: connected, nothing sent.
 *   EXCHANGE   a request that was sent, its body, the response. .exchange is valid.
 *   TUNNEL     both directions copied until both have ended.
 *   REFUSED    .refusal is to be said in HTTP, once it is known whose connection it is. Upstream: none.
 *   LINGER     an answer of ours is flushed, then the client's end awaited, so that no reset overtakes it.
 *   CLOSED     no descriptor any more; only the answer of owner_ask().
 */
enum connection_state {
	CONNECTION_REQUEST,
	CONNECTION_SOCKS,
	CONNECTION_PEEK,
	CONNECTION_HELD,
	CONNECTION_DIAL,
	CONNECTION_PROXY,
	CONNECTION_FIRST,
	CONNECTION_EXCHANGE,
	CONNECTION_TUNNEL,
	CONNECTION_REFUSED,
	CONNECTION_LINGER,
	CONNECTION_CLOSED,
	CONNECTION_STATE_COUNT
};

/* How the client is told that it is refused, as far as its protocol is known. */
enum connection_answer {
	ANSWER_CLOSE,
	ANSWER_RESET,
	ANSWER_HTTP,
	ANSWER_SOCKS,
	ANSWER_TLS,
};

/* What a SOCKS client was seen to say last, and so the form of the answer that it waits for. */
enum socks_stage {
	SOCKS_NONE,
	SOCKS_OLD, /* SOCKS4: refused */
	SOCKS_GREETING,
	SOCKS_REQUEST,
};

struct exchange;

struct refusal {
	uint32_t reason;       /* enum egress_reason */
	unsigned status;       /* of HTTP, or enum socks_reply */
	uint16_t proxy_status; /* what the upstream proxy has answered; 0: nothing */
	struct proxy_tls_fault proxy_fault;
	const char *message;  /* in place of the reason's text; NULL */
	bool has_waited;      /* long enough for the name of the program */
	uint32_t retry_after; /* seconds that an HTTP client is asked to wait; 0: nothing is said */
};

/* true: the state has changed, go on with it at once. false: wait, or the connection is closed. */
typedef bool (*connection_step_fn)(struct connection *c);

struct connection {
	struct grave grave;
	TAILQ_ENTRY(connection) link;
	struct gateway *gateway;
	uint8_t state;  /* enum connection_state */
	uint8_t answer; /* enum connection_answer */
	uint8_t socks;  /* enum socks_stage */
	bool captured;
	bool buried;
	bool wants_json; /* so says the Accept header of the last request */
	bool bound;      /* .target is fixed, by CONNECT, SOCKS or capture */
	bool by_proxy;   /* .dial or .upstream lead to the upstream proxy: whose addresses are not .target's */
	bool hello_seen; /* a ClientHello was let through: without a name (hello_unnamed), with ECH (hello_ech) */
	bool hello_unnamed;
	bool hello_ech;
	bool first_way_out; /* was counted as a new connection already */
	bool has_keepalive; /* .upstream */
	struct watch client;
	struct watch upstream;
	struct proxy_tls_pump *tls; /* behind .upstream, or NULL */
	struct relay up;
	struct relay down;
	struct buffer in; /* the client's bytes that are not judged yet */
	size_t held;      /* of the gateway's .held */
	size_t in_looked; /* how much of it has been parsed in vain */
	struct deadline deadline;
	uint64_t active_at;
	struct dial *dial;
	connection_step_fn then;      /* after a step of .dial */
	connection_step_fn connected; /* with .upstream open */
	struct question *question;    /* that it is held for, or NULL (ask.h) */
	connection_step_fn again;     /* judges it anew after that */
	struct exchange *exchange;
	struct target target;
	struct egress_verdict verdict; /* of .target */
	struct host *host;             /* where it counts as open; NULL */
	uint64_t accounts;             /* of the budget, that it draws from (policy/egress_budget.h) */
	uint32_t once;                 /* number of the rule for one connection that it has (judge.h), or 0 */
	struct audit audit;
	struct refusal refusal;
};

/* Takes over fd, which a listener of the gateway's has accepted. The caller says audit_open(), and sets the target of a
 * captured one, before connection_start(). NULL: closed. */
struct connection *connection_new(struct gateway *g, int fd);
void connection_start(struct connection *c, enum connection_state state);
/* Runs the state machine until it waits. c may be gone afterwards. */
void connection_step(struct connection *c);

/* Ends it; the audit event has been made before. Returns false, for `return connection_close(c)` in a step. */
bool connection_close(struct connection *c);
/* The same at once, whatever is still asked about its program. */
void connection_drop(struct connection *c);
/* Half-closes towards the client and waits a little for it to close. */
bool connection_linger(struct connection *c);
/* .upstream is connected to the upstream proxy: TLS from here on, where the gateway has it. 0 or -errno. */
int connection_secure(struct connection *c);
void connection_close_upstream(struct connection *c);

/* Reads more into .in. The number of new bytes, 0: none now, -ENODATA: the end, -EMSGSIZE: .in is full, -ENOMEM:
 * also where all connections hold too much; the answer to that is EGRESS_LIMIT. */
ssize_t connection_fill(struct connection *c);

/* Resolves c->target, then calls then. */
bool connection_resolve(struct connection *c, connection_step_fn then);
/* Connects to what was resolved (resolving first where that has not been done), or through the upstream proxy, then
 * calls then with .upstream open; at once where it is. Failures are answered here. */
bool connection_connect(struct connection *c, connection_step_fn then);

/* The client must have said what it wants within 30 s from now. */
void connection_must_say(struct connection *c);
/* Ends after an hour without a byte: for what is not used, or half closed. A live stream may be silent for ever. */
void connection_may_idle(struct connection *c);
void connection_is_live(struct connection *c);

/* The steps. */
bool request_step(struct connection *c);
bool socks_step(struct connection *c);
bool peek_step(struct connection *c);
bool proxy_step(struct connection *c);
bool first_step(struct connection *c);
bool exchange_step(struct connection *c);
bool tunnel_step(struct connection *c);
bool refused_step(struct connection *c);

/* For a client that asked for a tunnel to .target, which is allowed: reaches out, tells it in its protocol, looks at
 * what comes first. */
bool tunnel_open(struct connection *c);
/* Relays what is in .in and all that follows, without further looks. */
bool tunnel_begin(struct connection *c);
void exchange_free(struct exchange *x);
/* Of its buffers. */
size_t exchange_size(const struct exchange *x);
/* Frees those: it will send nothing any more. */
void exchange_drop(struct exchange *x);

#endif
