#include "policy/policy_network.h"

#define SWAP(a, b)                                                                                                     \
	do {                                                                                                           \
		__typeof__(a) swapped = (a);                                                                           \
		(a) = (b);                                                                                             \
		(b) = swapped;                                                                                         \
	} while (0)

void policy_network_swap(struct policy *a, struct policy *b)
{
	SWAP(a->allowed_domains, b->allowed_domains);
	SWAP(a->denied_domains, b->denied_domains);
	SWAP(a->hosts, b->hosts);
	SWAP(a->n_hosts, b->n_hosts);
	SWAP(a->budget[EGRESS_OUT], b->budget[EGRESS_OUT]);
	SWAP(a->budget[EGRESS_IN], b->budget[EGRESS_IN]);
	SWAP(a->budgets, b->budgets);
	SWAP(a->n_budgets, b->n_budgets);
	SWAP(a->connections, b->connections);
	SWAP(a->host_connections, b->host_connections);
	SWAP(a->per_second, b->per_second);
	SWAP(a->host_per_second, b->host_per_second);
	SWAP(a->ech_denied, b->ech_denied);
	SWAP(a->no_sni, b->no_sni);
	SWAP(a->egress, b->egress);
	SWAP(a->unlisted, b->unlisted);
}

void policy_network_swap_unlisted(struct policy *a, struct policy *b)
{
	SWAP(a->egress.unlisted, b->egress.unlisted);
	SWAP(a->unlisted, b->unlisted);
}
