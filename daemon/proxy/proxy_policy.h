#ifndef ISOD_PROXY_POLICY_H
#define ISOD_PROXY_POLICY_H
/* The policy of the gateway outside a session. */
#include "daemon/wire/proxy_auth.h"
#include "policy/policy.h"

struct proxy_tls;

/*
 * arguments: "administrator=PATH" (may be absent), "user=PATH", "file=PATH", in this order, then "allow=HOST"; extra:
 * of EGRESS_ALLOW_EXTRA, or NULL. Besides what these allow, localhost, 127.0.0.1 and ::1 are allowed on ports 80 and
 * 443: who may ask the gateway is on that machine already. policy_done() in any case.
 */
int proxy_policy_load(char **arguments, int n_arguments, const char *extra, struct policy *ret, struct error *e);

/* The value of Proxy-Authorization for the upstream proxy of the policy, whose file only root may read; "" where it
 * needs none. The caller wipes *ret. 0 or -errno with *e. */
int proxy_policy_auth(char **arguments, int n_arguments, const struct policy *policy, char ret[PROXY_AUTH_VALUE_MAX],
		      struct error *e);
/* TLS to the upstream proxy, where the policy wants it; NULL otherwise. Its caFile lies where authFile does. 0, or
 * -errno with *e. */
int proxy_policy_tls(char **arguments, int n_arguments, const struct policy *policy, struct proxy_tls **ret,
		     struct error *e);

#endif
