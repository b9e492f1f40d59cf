#ifndef ISOD_POLICY_EGRESS_H
#define ISOD_POLICY_EGRESS_H
/*
 * The one decision about the network: used by every way out (CONNECT, absolute-form HTTP, captured TCP, DNS) and by
 * `policy test`. Pure: no system call, no allocation in egress_decide().
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/limits.h"

/* Why; the text of egress_reason_name() is in the audit log, the HTTP answer, the DNS extended error. */
enum egress_reason {
	EGRESS_ALLOWED = 0,     /* "allowed": a rule names it */
	EGRESS_LEARNED,         /* "learned": no rule names it; let through, since the policy says learn */
	EGRESS_NOT_LISTED,      /* "not-listed": no rule names it */
	EGRESS_DENIED,          /* "denied": a deny rule names it */
	EGRESS_PORT,            /* "port": the host is listed, this port is not */
	EGRESS_PRIVATE_ADDRESS, /* "private-address": resolves to an address that no rule names */
	EGRESS_ADDRESS_LITERAL, /* "address-literal": an address instead of a name, and no rule for it */
	EGRESS_BAD_NAME,        /* "bad-name": not a host name in canonical form */
	EGRESS_SNI_MISMATCH,    /* "sni-mismatch" */
	EGRESS_SNI_MISSING,     /* "sni-missing" */
	EGRESS_HOST_MISMATCH,   /* "host-mismatch": the Host header names another host */
	EGRESS_NOT_TLS,         /* "not-tls": port 443 without a ClientHello */
	EGRESS_BAD_TLS,         /* "bad-tls" */
	EGRESS_BAD_HTTP,        /* "bad-http" */
	EGRESS_UNRESOLVED,      /* "unresolved": no address for an allowed name */
	EGRESS_UNREACHABLE,     /* "unreachable": the host did not answer */
	EGRESS_UNKNOWN_ADDRESS, /* "unknown-address": an invented address that stands for no name */
	EGRESS_LIMIT,           /* "limit" */
	EGRESS_PROTOCOL,        /* "protocol": neither TCP nor DNS (nftables refused the packet) */
	EGRESS_OTHER_USER,      /* "other-user": another user of the machine at a published port */
	EGRESS_QUERY_TYPE,      /* "query-type" */
	EGRESS_TLS_TO_PROXY,    /* "tls-to-proxy": TLS sent to the plain proxy port */
	EGRESS_ECH,             /* "ech" */
	EGRESS_TIMEOUT,         /* "timeout": the client did not say what it wants */
	EGRESS_BAD_SOCKS,       /* "bad-socks" */
	EGRESS_BUDGET,          /* "budget": the bytes that the policy allows there are used up */
	EGRESS_RATE,            /* "rate": more new connections in a second than the policy allows */
	/* Of an allowed connection that is to go through the upstream proxy (policy/egress_proxy.h). */
	EGRESS_PROXY_UNREACHABLE, /* "proxy-unreachable" */
	EGRESS_PROXY_AUTH,        /* "proxy-auth" */
	EGRESS_PROXY_REFUSED,     /* "proxy-refused" */
	/* Of what no rule names, where the policy says ask. */
	EGRESS_ASKED,         /* "asked": the session's owner is to be asked; never the end of it */
	EGRESS_UNANSWERED,    /* "unanswered": nobody has answered in time */
	EGRESS_OWNER_REFUSED, /* "owner-refused": the answer was no */
	EGRESS_REASON_COUNT
};

const char *egress_reason_name(uint32_t reason);
/* One sentence for people, ends in a full stop, contains no name. */
const char *egress_reason_text(uint32_t reason);
/* EGRESS_REASON_COUNT where no reason is called so. */
uint32_t egress_reason_from_name(const char *name);
/* Can the same attempt succeed later, without anybody changing anything? */
bool egress_reason_passes(uint32_t reason);
/* What to do about it, one line, or "". host: canonical name or address of the target, "" where none is known; command:
 * "isoctl run", whose --allow-domain would let it through. */
#define EGRESS_HINT_MAX 400
void egress_reason_hint(uint32_t reason, const char *command, const char *host, uint16_t port,
			char ret[EGRESS_HINT_MAX]);

/* May this text be shown to the users of a deny rule: 1 to LIMIT_DENY_REASON bytes of UTF-8, not only blanks, nothing
 * that acts on a terminal or changes the order of what is read? */
bool egress_why_is_valid(const char *text);

enum egress_rule_kind {
	EGRESS_RULE_HOST = 1, /* exact canonical name */
	EGRESS_RULE_SUFFIX,   /* "*.domain": stored as "domain"; matches any name below it, not the apex */
	EGRESS_RULE_ADDRESS,  /* address/prefix */
	EGRESS_RULE_ANY,      /* reserved: no text makes it, the wire form refuses it, it matches nothing */
};

struct egress_rule {
	uint8_t kind; /* enum egress_rule_kind */
	uint8_t deny;
	uint8_t family; /* AF_INET, AF_INET6 for ADDRESS */
	uint8_t bits;
	uint16_t port; /* 0: 80 and 443; in a deny rule every port */
	uint8_t address[16];
	uint32_t once;    /* not 0: an allow rule for one connection, of this number; no other rule has the same */
	bool spent;       /* that connection has been: it counts for that one alone. No part of the wire form */
	const char *name; /* canonical, for HOST and SUFFIX */
	const char *why;  /* of a deny rule: what its users are told (egress_why_is_valid()), or NULL */
};

struct egress_pin {
	const char *name; /* canonical */
	uint32_t n_addresses;
	struct {
		uint8_t family;
		uint8_t address[16];
	} addresses[LIMIT_PINNED_ADDRESSES];
};

/* What becomes of names that no rule is about; the stricter ones come first. */
enum egress_unlisted {
	EGRESS_UNLISTED_DENY = 0,
	EGRESS_UNLISTED_ASK,   /* public names: the session's owner is asked; all else is refused */
	EGRESS_UNLISTED_LEARN, /* public names are let through, with a reason of their own for the audit log */
	EGRESS_UNLISTED_COUNT
};

enum egress_direction { EGRESS_OUT, EGRESS_IN, EGRESS_DIRECTION_COUNT };

/* Bytes that may go to and come from all hosts that a rule names, together (policy/egress_budget.h). */
struct egress_budget {
	struct egress_rule host;                /* without a port every port: .deny is set */
	uint64_t bytes[EGRESS_DIRECTION_COUNT]; /* 0: no limit */
};

/* 0: no limit but those of base/limits.h. */
struct egress_limits {
	uint64_t bytes[EGRESS_DIRECTION_COUNT]; /* of the whole session */
	uint32_t connections;                   /* open at a time */
	uint32_t host_connections;              /* to one host */
	uint32_t per_second;                    /* new connections; so many may come at once */
	uint32_t host_per_second;
};

/* What a ClientHello must be like (policy/egress_tls.h). */
struct egress_tls {
	bool ech_denied; /* none may have an encrypted_client_hello */
	struct egress_rule
		*no_sni;   /* HOST and SUFFIX: these need not be named. Without a port every port: .deny is set */
	uint32_t n_no_sni; /* at most LIMIT_EGRESS_NO_SNI */
};

/*
 * Immutable once built. egress_rules_done() frees the texts and the arrays, so all of them are heap memory where it is
 * called; rules that point at other memory need only free(by_name). The rules keep their order: it never changes a
 * decision, and egress_verdict.rule is an index into it.
 */
struct egress_rules {
	struct egress_rule *rules;
	uint32_t n_rules;
	struct egress_pin *pins;
	uint32_t n_pins;
	struct egress_budget *budgets;
	uint32_t n_budgets; /* at most LIMIT_EGRESS_BUDGETS */
	struct egress_limits limits;
	struct egress_tls tls;
	uint32_t unlisted;   /* enum egress_unlisted */
	uint32_t generation; /* how often they were replaced while a session runs; no part of the wire form */
	bool has_localhost; /* localhost is a name like others: outside a session, where it is the program's own machine
			     */
	uint32_t *by_name; /* made by egress_rules_prepare(): the HOST and SUFFIX rules by name, then all other rules by
			      address: n_rules items */
	uint32_t n_by_name; /* how many of them are HOST and SUFFIX */
	uint32_t *by_end;   /* in the same block: the allowing HOST and SUFFIX rules by name, read from its end */
	uint32_t n_by_end;
};

/* The rule as it is written in a policy. */
#define EGRESS_RULE_TEXT_MAX 272
void egress_rule_format(const struct egress_rule *rule, char ret[EGRESS_RULE_TEXT_MAX]);

/* Sorts for fast look-up (microseconds with 50,000 rules); to be called once after building. Without it nothing is
 * allowed. The host bits of address rules must be zero. 0 or -ENOMEM. */
int egress_rules_prepare(struct egress_rules *r);
void egress_rules_done(struct egress_rules *r);
/* Frees the texts of one rule. */
void egress_rule_done(struct egress_rule *rule);

struct egress_target {
	const char *name; /* canonical, or NULL for an address literal */
	uint8_t family;   /* of the literal */
	uint8_t address[16];
	uint16_t port;
	uint32_t holds; /* number of the spent rule that this connection has; 0: none */
};

#define EGRESS_NO_RULE UINT32_MAX

struct egress_verdict {
	bool allowed;
	uint32_t reason; /* enum egress_reason; where it is allowed EGRESS_ALLOWED or EGRESS_LEARNED */
	uint32_t rule;   /* deciding rule, EGRESS_NO_RULE = none */
};

/* By name (or address literal) and port. deny beats allow. A special address (policy/address.h) is allowed only by a
 * rule that lies inside a special range itself: 0.0.0.0/0 does not open loopback. */
void egress_decide(const struct egress_rules *r, const struct egress_target *t, struct egress_verdict *ret);
/* A rule for one connection, which decides only where no other one allows, has had it now. */
void egress_rule_spend(struct egress_rules *r, uint32_t rule);
/* What was spent of the rules before is spent in those after, too. */
void egress_rules_keep_spent(const struct egress_rules *before, struct egress_rules *after);

/* May the resolver answer this name at all, i.e. is there any port on which it is allowed? */
void egress_decide_dns(const struct egress_rules *r, const char *name, struct egress_verdict *ret);

/* Does an allow rule name something below this canonical name? Then the name exists in the DNS even where it is refused
 * itself: without records, since "no such name" would hold for everything below it (RFC 8020). */
bool egress_has_below(const struct egress_rules *r, const char *name);

/*
 * May this resolved address be dialled for an allowed name? Special ranges (policy/address.h) are refused unless the
 * name is pinned to the very address or an address rule names it, as above. A deny rule for the address beats a pin.
 * A name that is only learned has no special address by a pin, none has one by a rule for one connection.
 */
void egress_decide_address(const struct egress_rules *r, const char *name, uint8_t family, const uint8_t *address,
			   uint16_t port, struct egress_verdict *ret);

/* The pin of a canonical name, or NULL. */
const struct egress_pin *egress_pin_find(const struct egress_rules *r, const char *name);

/*
 * Parses one entry of allowedDomains / deniedDomains: host, host:port, *.domain, *.domain:port, [v6]:port, v4, v4:port,
 * CIDR, CIDR:port. ret->name is heap memory of the caller. -EINVAL with a sentence that shows the right form.
 */
int egress_rule_parse(const char *text, bool deny, struct egress_rule *ret, struct error *e);

#endif
