#include "daemon/session/gateway/budget.h"

#include <string.h>

static bool is_used_up(const struct budget_account *a, int direction)
{
	return a->limit[direction] && a->used[direction] >= a->limit[direction];
}

static bool has(uint64_t accounts, uint32_t i)
{
	return accounts >> i & 1;
}

static void take_over(const struct budget *old, struct budget_account *to)
{
	for (uint32_t i = 0; i < old->n; i++)
		if (strcmp(old->accounts[i].host, to->host) == 0)
			memcpy(to->used, old->accounts[i].used, sizeof(to->used));
	for (int i = 0; i < EGRESS_DIRECTION_COUNT; i++)
		to->exceeded[i] = to->limit[i] && to->used[i] > to->limit[i];
}

void budget_set_rules(struct budget *b, const struct egress_rules *r)
{
	struct budget old = *b;

	memset(b, 0, sizeof(*b));
	b->n = r->n_budgets + 1;
	memcpy(b->accounts[0].limit, r->limits.bytes, sizeof(b->accounts[0].limit));
	for (uint32_t i = 0; i < r->n_budgets; i++) {
		struct budget_account *a = &b->accounts[i + 1];

		memcpy(a->limit, r->budgets[i].bytes, sizeof(a->limit));
		egress_rule_format(&r->budgets[i].host, a->host);
	}
	for (uint32_t i = 0; i < b->n; i++)
		take_over(&old, &b->accounts[i]);
}

uint64_t budget_left(const struct budget *b, uint64_t accounts, enum egress_direction direction)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct budget_account *a = &b->accounts[i];
		uint64_t left = is_used_up(a, direction) ? 0 : a->limit[direction] - a->used[direction];

		if (has(accounts, i) && a->limit[direction] && left < least)
			least = left;
	}
	return least;
}

void budget_take(struct budget *b, uint64_t accounts, enum egress_direction direction, uint64_t bytes)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (has(accounts, i))
			b->accounts[i].used[direction] += bytes;
}

bool budget_is_spent(const struct budget *b, uint64_t accounts)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (has(accounts, i) &&
		    (is_used_up(&b->accounts[i], EGRESS_OUT) || is_used_up(&b->accounts[i], EGRESS_IN)))
			return true;
	return false;
}

bool budget_is_exceeded(const struct budget *b, uint64_t accounts)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (has(accounts, i) && (b->accounts[i].exceeded[EGRESS_OUT] || b->accounts[i].exceeded[EGRESS_IN]))
			return true;
	return false;
}

uint64_t budget_exceed(struct budget *b, uint64_t accounts, enum egress_direction direction)
{
	uint64_t fresh = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		struct budget_account *a = &b->accounts[i];

		if (!has(accounts, i) || !is_used_up(a, direction) || a->exceeded[direction])
			continue;
		a->exceeded[direction] = true;
		fresh |= (uint64_t)1 << i;
	}
	return fresh;
}
