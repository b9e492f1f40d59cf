#ifndef ISOD_SESSION_GATEWAY_BUDGET_H
#define ISOD_SESSION_GATEWAY_BUDGET_H
/*
 * Bytes that may still go: an account for the session, one for each entry of network.budget.hosts, each with both
 * directions. Sets of accounts are those of policy/egress_budget.h. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

#include "policy/egress.h"
#include "policy/egress_budget.h"

struct budget_account {
	uint64_t used[EGRESS_DIRECTION_COUNT];
	uint64_t limit[EGRESS_DIRECTION_COUNT]; /* 0: none */
	bool exceeded[EGRESS_DIRECTION_COUNT];  /* there were more bytes than the limit: nothing may be open any more */
	char host[EGRESS_RULE_TEXT_MAX];        /* as the rule is written; "" for the session */
};

struct budget {
	uint32_t n; /* accounts: 1 and one for each budget of the rules */
	struct budget_account accounts[EGRESS_ACCOUNTS];
};

/* Limits and accounts as the rules say. What was used stays used where the same hosts have an account again; of a new
 * one nothing is. Zeroed before the first time. */
void budget_set_rules(struct budget *b, const struct egress_rules *r);

/* Bytes that all of these accounts still have in this direction; UINT64_MAX: no limit. */
uint64_t budget_left(const struct budget *b, uint64_t accounts, enum egress_direction direction);
void budget_take(struct budget *b, uint64_t accounts, enum egress_direction direction, uint64_t bytes);

/* Is one of them used up in either direction? Then nothing new is opened. */
bool budget_is_spent(const struct budget *b, uint64_t accounts);
/* Has one of them been exceeded? Then nothing stays open. */
bool budget_is_exceeded(const struct budget *b, uint64_t accounts);
/* There are more bytes than these accounts have. Returns those that this is new of. */
uint64_t budget_exceed(struct budget *b, uint64_t accounts, enum egress_direction direction);

#endif
