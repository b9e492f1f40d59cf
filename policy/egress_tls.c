#include "policy/egress_tls.h"

#include <string.h>

#include "policy/egress_budget.h"
#include "policy/hostname.h"

bool egress_tls_needs_no_name(const struct egress_rules *r, const struct egress_target *t)
{
	for (uint32_t i = 0; i < r->tls.n_no_sni; i++)
		if (egress_budget_names(&r->tls.no_sni[i], t))
			return true;
	return false;
}

uint32_t egress_tls_decide(const struct egress_rules *r, const struct egress_target *t,
			   const struct egress_hello *hello)
{
	char canonical[HOSTNAME_MAX + 1];

	if (hello->ech && r->tls.ech_denied)
		return EGRESS_ECH;
	/* A rule for an address says nothing about names. */
	if (!t->name)
		return EGRESS_ALLOWED;
	if (!hello->name && !egress_tls_needs_no_name(r, t))
		return EGRESS_SNI_MISSING;
	/* Who is served by a name that nobody sees cannot be said to have none. */
	if (!hello->name)
		return hello->ech ? EGRESS_ECH : EGRESS_ALLOWED;
	if (hostname_canonical(hello->name, hello->name_len, canonical) < 0 || strcmp(canonical, t->name) != 0)
		return EGRESS_SNI_MISMATCH;
	return EGRESS_ALLOWED;
}
