#ifndef ISOD_SESSION_DNS_MESSAGE_H
#define ISOD_SESSION_DNS_MESSAGE_H
/* One DNS query read, one reply written (RFC 1035, 6891, 8914). No allocation, no compression pointer is followed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/hostname.h"

/* Without a payload size of its own a UDP client takes this much; no reply of ours is larger (asserted in the source).
 */
#define DNS_REPLY_MAX 512
/* Of a query: one question and a few additional records are far below it. */
#define DNS_QUERY_MAX 4096

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16,
};

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };

/* Extended errors (RFC 8914) */
#define DNS_EDE_OTHER 0
#define DNS_EDE_BLOCKED 15

struct dns_query {
	uint16_t id;
	uint16_t flags; /* as received */
	uint16_t type;
	const uint8_t
		*question; /* slice of the input, to be echoed letter by letter; NULL where it could not be read */
	size_t question_len;
	char name[HOSTNAME_MAX + 1]; /* canonical; "" where the question holds no host name */
	bool has_edns;
};

/*
 * 0: a query to be answered. Positive: enum dns_rcode to answer with, *ret is filled as far as it was read.
 * -EBADMSG: no query at all (too short, or a reply): silence.
 */
int dns_query_parse(const uint8_t *data, size_t len, struct dns_query *ret);

struct dns_answer {
	uint16_t rcode;
	uint16_t type;          /* DNS_A, DNS_AAAA, DNS_PTR: with data; 0: no record */
	uint32_t ttl;           /* seconds */
	const uint8_t *address; /* 4 or 16 bytes */
	const char *name;       /* of PTR, canonical */
	int ede;                /* info code, or -1; only told to who sent EDNS */
	const char
		*ede_text; /* UTF-8; cut where the reply has no room for it: 220 bytes without a record, 64 with one */
};

#define DNS_ANSWER_INIT                                                                                                \
	{                                                                                                              \
		.ede = -1                                                                                              \
	}

/* Returns the reply's length. */
size_t dns_reply_write(const struct dns_query *query, const struct dns_answer *answer, uint8_t ret[DNS_REPLY_MAX]);

/* The address that a canonical reverse name (in-addr.arpa, ip6.arpa) stands for: its family, or -EINVAL. */
int dns_reverse_parse(const char *name, uint8_t ret[16]);

#endif
