#include "policy/egress_budget.h"

#include <string.h>

#include "policy/address.h"

bool egress_budget_names(const struct egress_rule *rule, const struct egress_target *t)
{
	size_t len, tail;

	if (rule->port && rule->port != t->port)
		return false;
	switch ((enum egress_rule_kind)rule->kind) {
	case EGRESS_RULE_HOST:
		return t->name && strcmp(rule->name, t->name) == 0;
	case EGRESS_RULE_SUFFIX:
		len = t->name ? strlen(t->name) : 0;
		tail = strlen(rule->name);
		return len > tail + 1 && t->name[len - tail - 1] == '.' &&
		       strcmp(t->name + len - tail, rule->name) == 0;
	case EGRESS_RULE_ADDRESS: {
		uint8_t inner[16];
		int family;

		if (t->family == 0)
			return false;
		family = address_unwrap(t->family, t->address, inner);
		return address_in_prefix(family, inner, rule->family, rule->address, rule->bits);
	}
	case EGRESS_RULE_ANY:
		break;
	}
	return false;
}

uint64_t egress_budget_accounts(const struct egress_rules *r, const struct egress_target *t)
{
	uint64_t accounts = 1;

	for (uint32_t i = 0; i < r->n_budgets; i++)
		if (egress_budget_names(&r->budgets[i].host, t))
			accounts |= (uint64_t)2 << i;
	return accounts;
}

bool egress_budget_is_for(const struct egress_budget *b, const struct egress_rule *host)
{
	const struct egress_rule *own = &b->host;

	if (own->kind != host->kind || own->port != host->port)
		return false;
	if (own->kind != EGRESS_RULE_ADDRESS)
		return strcmp(own->name, host->name) == 0;
	return own->family == host->family && own->bits == host->bits &&
	       memcmp(own->address, host->address, sizeof(own->address)) == 0;
}
