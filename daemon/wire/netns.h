#ifndef ISOD_WIRE_NETNS_H
#define ISOD_WIRE_NETNS_H
/*
 * The fixed picture of a session's network namespace: only lo, every address local, one nft table. isod makes the
 * ruleset, isod-launch the sockets, isod-session serves them; isod-control puts the proxy address in the environment.
 * The ports lie above the usual ephemeral range (32768-60999) so that a program's own sockets do not meet them.
 */
#define NETNS_PROXY_PORT 61080   /* explicit HTTP proxy, on 127.0.0.1 and ::1 */
#define NETNS_CAPTURE_PORT 61443 /* target of the redirect of all other TCP */
#define NETNS_DNS_PORT 61053     /* target of the redirect of port 53, UDP and TCP */
#define NETNS_NFLOG_GROUP 61     /* refused packets */

/* Invented addresses: one a name, from these ranges (RFC 2544 benchmarking; a ULA prefix of ours). The first address
 * of each is the resolver's. */
#define NETNS_INVENTED_V4 "198.18.0.0"
#define NETNS_INVENTED_V4_BITS 15
#define NETNS_INVENTED_V6 "fd69:736f:6400::"
#define NETNS_INVENTED_V6_BITS 64
#define NETNS_RESOLVER_V4 "198.18.0.1"
#define NETNS_RESOLVER_V6 "fd69:736f:6400::1"

#define NETNS_TABLE "isod" /* inet family */

#endif
