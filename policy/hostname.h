#ifndef ISOD_POLICY_HOSTNAME_H
#define ISOD_POLICY_HOSTNAME_H
/*
 * One canonical form for rules, SNI, Host, CONNECT, DNS and log keys: lower-case ASCII, A-labels, without the one
 * trailing dot that is allowed, 1..253 bytes, labels of 1..63 bytes from [a-z0-9_-] that neither begin nor end with
 * '-'. All-numeric and 0x... last labels are refused: such text is an address in some spelling, or nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTNAME_MAX 253

/* From the wire: ASCII only, no blanks, no percent escapes. 0 or -EINVAL. ret has room for HOSTNAME_MAX + 1. */
int hostname_canonical(const char *text, size_t len, char ret[HOSTNAME_MAX + 1]);

/* From a policy: the same, and U-labels become A-labels (IDNA 2008, UTS 46 non-transitional). Links libidn2: only the
 * policy parser uses it (hostname_idn.c). */
int hostname_canonical_idn(const char *text, char ret[HOSTNAME_MAX + 1]);

/* True where name lies below domain on a label boundary; not the domain itself. Both canonical. */
bool hostname_is_below(const char *name, const char *domain);

/* localhost, *.localhost: never leave the session. */
bool hostname_is_localhost(const char *name);

/* Could strangers own it? Not where it has one label, or lies below a name that networks keep to themselves. */
bool hostname_is_public(const char *name);

/* 1..65535 in its one spelling: digits, no sign, no leading zero. 0 or -EINVAL. */
int hostname_parse_port(const char *text, size_t len, uint16_t *ret);

/* "host:port", "[v6]:port", "v4:port" as in CONNECT and Host. Host part as a slice without brackets, *ret_v6 for the
 * bracketed form, *ret_port = 0 where none is given. Strict: a malformed port is an error, never a default. */
int hostname_split_port(const char *text, size_t len, const char **ret_host, size_t *ret_host_len, bool *ret_v6,
			uint16_t *ret_port);

#endif
