#ifndef ISOD_POLICY_NETWORK_H
#define ISOD_POLICY_NETWORK_H
/* The part of a policy that can change while a session runs. */
#include "policy/policy.h"

/* Exchanges what says which hosts may be reached: allowedDomains, deniedDomains, onUnlisted, hosts, budgets, limits,
 * tls, and the rules made of them. Their texts stay where they are: from then on each of the two is valid only while
 * the other is. */
void policy_network_swap(struct policy *a, struct policy *b);
/* onUnlisted alone, which is a part of it. */
void policy_network_swap_unlisted(struct policy *a, struct policy *b);

#endif
