#ifndef ISOD_SESSION_GATEWAY_H
#define ISOD_SESSION_GATEWAY_H
/*
 * The way out for TCP: explicit proxy (CONNECT, absolute-form HTTP/1.x) and captured connections (the real target from
 * SO_ORIGINAL_DST), one decision for both.
 */
#include <uv.h>

#include "policy/egress.h"
#include "policy/egress_proxy.h"

struct names;
struct events;
struct link;
struct gateway;
struct proxy_tls;

struct gateway_listeners {
	int proxy_v4, proxy_v6, capture_v4, capture_v6; /* listening sockets; taken over, closed by gateway_close() */
};

/* rules, names, events, link must outlive the gateway; see gateway_rules_changed(). 0 or -errno. */
int gateway_open(uv_loop_t *loop, struct egress_rules *rules, struct names *names, struct events *events,
		 struct link *link, const struct gateway_listeners *listeners, struct gateway **ret);
/* Who refuses, for its texts: the session's id ("": none) and the command whose --allow-domain would allow it. Both
 * must outlive the gateway. Without this call: "" and "isoctl run". */
void gateway_introduce(struct gateway *g, const char *session, const char *command);
/* Connections go through this proxy from now on, unless it is bypassed. auth: the value of Proxy-Authorization, or
 * NULL. Both must outlive the gateway. */
void gateway_use_proxy(struct gateway *g, const struct egress_proxy *proxy, const char *auth);
/* And by TLS (gateway/proxy_tls.h). Closed with the gateway. */
void gateway_use_tls(struct gateway *g, struct proxy_tls *tls);
/* The rules were replaced in place: every connection is judged again, and what no longer fits is closed, with its audit
 * event. Returns how many were. */
unsigned gateway_rules_changed(struct gateway *g);
/* The session's owner has answered one of its questions (gateway/ask.h): enum session_answer. */
void gateway_answered(struct gateway *g, uint32_t number, uint32_t answer);
/*
 * The program has ended: connections go on until what it has sent was taken by the peers, for 2 s at most. Then,
 * perhaps at once, calls done(), from where gateway_close() may be called; not called after gateway_close().
 */
void gateway_drain(struct gateway *g, void (*done)(void *data), void *data);
/* Ends every connection; the audit events of those are sent. Freed once all handles are closed: run the loop after. */
void gateway_close(struct gateway *g);

#endif
