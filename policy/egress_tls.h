#ifndef ISOD_POLICY_EGRESS_TLS_H
#define ISOD_POLICY_EGRESS_TLS_H
/* Does a ClientHello say where it goes? Pure. */
#include "policy/egress.h"

struct egress_hello {
	const char *name; /* as sent; NULL: it names no server */
	size_t name_len;
	bool ech; /* has an encrypted_client_hello, real or GREASE */
};

/* May it go on to t, which is allowed? EGRESS_ALLOWED, or why not. */
uint32_t egress_tls_decide(const struct egress_rules *r, const struct egress_target *t,
			   const struct egress_hello *hello);

/* Is t among the hosts that a ClientHello need not name? */
bool egress_tls_needs_no_name(const struct egress_rules *r, const struct egress_target *t);

#endif
