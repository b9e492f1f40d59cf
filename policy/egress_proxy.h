#ifndef ISOD_POLICY_EGRESS_PROXY_H
#define ISOD_POLICY_EGRESS_PROXY_H
/*
 * The proxy through which a network lets connections out: `upstreamProxy` of the administrator's policy. What is
 * allowed is decided before and without it. Pure; its password is no part of this (daemon/wire/proxy_auth.h).
 */
#include "policy/egress.h"

/* egress_proxy_done() frees the texts. */
struct egress_proxy {
	const char *name; /* canonical, or NULL: .address */
	uint8_t family;   /* of .address */
	uint8_t address[16];
	uint16_t port;
	struct egress_rules
		bypass; /* deny rules, as these are about every port: what they name is connected to directly */
};

void egress_proxy_done(struct egress_proxy *p);

/* Does a connection to this target, which is allowed, go through p? NULL: no. Not where a rule of .bypass names it or
 * an address that it is pinned to; nor to an address of this machine or of a link it is on, which means another one
 * there.
 */
bool egress_proxy_takes(const struct egress_proxy *p, const struct egress_rules *rules, const struct egress_target *t);

/* As bytes: built by isod-control, read by isod-session. Versioned, bounded, fuzzed. */
#define EGRESS_PROXY_MAGIC 0x59585049u /* "IPXY" */
#define EGRESS_PROXY_VERSION 1
int egress_proxy_encode(const struct egress_proxy *p, struct buffer *ret);
/* Copies; 0, -EBADMSG, -ENOMEM. */
int egress_proxy_decode(const void *data, size_t len, struct egress_proxy *ret);

#endif
