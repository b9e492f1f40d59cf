#ifndef ISOD_POLICY_EGRESS_BUDGET_H
#define ISOD_POLICY_EGRESS_BUDGET_H
/* Whose bytes a budget counts. Pure. */
#include "policy/egress.h"

/* Accounts as bits: 0 is the whole session, i + 1 is budget i of the rules. */
#define EGRESS_ACCOUNTS (LIMIT_EGRESS_BUDGETS + 1)

/* What a connection to t draws from; bit 0 always. */
uint64_t egress_budget_accounts(const struct egress_rules *r, const struct egress_target *t);

/* Is t one of the hosts that the rule names? */
bool egress_budget_names(const struct egress_rule *rule, const struct egress_target *t);

/* Are they about the same hosts? */
bool egress_budget_is_for(const struct egress_budget *b, const struct egress_rule *host);

#endif
