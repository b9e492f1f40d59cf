#ifndef ISOD_SESSION_DNS_H
#define ISOD_SESSION_DNS_H
/* The session's resolver. It answers from the rules alone: no query ever leaves. */
#include <uv.h>

#include "daemon/session/dns/dns_message.h"
#include "policy/egress.h"

struct dns;
struct names;
struct events;

struct dns_listeners {
	int udp[2], tcp[2]; /* IPv4, IPv6; taken over, closed by dns_close() */
};

/* rules, names and events must outlive it. 0 or -errno. */
int dns_open(uv_loop_t *loop, const struct egress_rules *rules, struct names *names, struct events *events,
	     const struct dns_listeners *listeners, struct dns **ret);
/* Freed once all handles are closed. NULL is allowed. */
void dns_close(struct dns *d);
/* To be called before the rules are replaced in place: refusals by the old ones that still wait are told. */
void dns_rules_change(struct dns *d);

/* The reply to one message, in UDP and TCP alike. Returns its length, 0 = silence. */
size_t dns_answer(struct dns *d, const uint8_t *query, size_t len, uint8_t ret[DNS_REPLY_MAX]);

/* For dns_tcp.c: its handles hold the server in memory. */
void dns_hold(struct dns *d);
void dns_release(struct dns *d);

#endif
