#ifndef ISOD_PROXY_POLICY_H
#define ISOD_PROXY_POLICY_H
/* The policy of the gateway outside a session. */
#include "policy/policy.h"

/*
 * arguments: "administrator=PATH" (may be absent), "user=PATH", "file=PATH", in this order, then "allow=HOST"; extra:
 * of EGRESS_ALLOW_EXTRA, or NULL. Besides what these allow, localhost, 127.0.0.1 and ::1 are allowed on ports 80 and
 * 443: who may ask the gateway is on that machine already. policy_done() in any case.
 */
int proxy_policy_load(char **arguments, int n_arguments, const char *extra, struct policy *ret, struct error *e);

#endif
