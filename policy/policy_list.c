/* Growing arrays of struct policy. Their size is a power of two or their count, so no capacity is kept. */
#include <stdlib.h>
#include <string.h>

#include "policy/policy_build.h"

/* Room for one more item in an array that has grown by this function only. */
static void *grow(void *items, size_t count, size_t size)
{
	size_t room = count == 0 ? 4 : count * 2;

	if (count != 0 && (count < 4 || (count & (count - 1)) != 0))
		return items;
	return reallocarray(items, room, size);
}

int policy_list_append(const struct policy_builder *b, struct policy_list *list, const char *text, uint32_t line)
{
	struct policy_text *items = grow(list->items, list->count, sizeof(*items));
	char *copy = arena_copy(b->arena, text, strlen(text));

	if (items)
		list->items = items;
	if (!items || !copy)
		return policy_no_memory(b);
	list->items[list->count++] = (struct policy_text){ .text = copy, .origin = policy_builder_origin(b, line) };
	return 0;
}

int policy_rule_append(const struct policy_builder *b, const struct egress_rule *rule)
{
	struct egress_rules *egress = &b->policy->egress;
	struct egress_rule *rules = grow(egress->rules, egress->n_rules, sizeof(*rules));

	if (!rules)
		return policy_no_memory(b);
	egress->rules = rules;
	egress->rules[egress->n_rules++] = *rule;
	return 0;
}

int policy_pin_append(const struct policy_builder *b, const struct egress_pin *pin)
{
	struct egress_rules *egress = &b->policy->egress;
	struct egress_pin *pins = grow(egress->pins, egress->n_pins, sizeof(*pins));

	if (!pins)
		return policy_no_memory(b);
	egress->pins = pins;
	egress->pins[egress->n_pins++] = *pin;
	return 0;
}

int policy_pair_append(const struct policy_builder *b, struct policy_pair **pairs, size_t *n, const char *name,
		       const char *value, uint32_t line)
{
	struct policy_pair *items = grow(*pairs, *n, sizeof(*items));
	char *name_copy = arena_copy(b->arena, name, strlen(name));
	char *value_copy = arena_copy(b->arena, value, strlen(value));

	if (items)
		*pairs = items;
	if (!items || !name_copy || !value_copy)
		return policy_no_memory(b);
	items[(*n)++] = (struct policy_pair){ .name = name_copy,
					      .value = value_copy,
					      .origin = policy_builder_origin(b, line) };
	return 0;
}

int policy_no_sni_append(const struct policy_builder *b, const struct egress_rule *rule)
{
	struct egress_tls *tls = &b->policy->egress.tls;
	struct egress_rule *rules = grow(tls->no_sni, tls->n_no_sni, sizeof(*rules));

	if (!rules)
		return policy_no_memory(b);
	tls->no_sni = rules;
	tls->no_sni[tls->n_no_sni++] = *rule;
	return 0;
}

int policy_budget_append(const struct policy_builder *b, const char *text, const struct egress_rule *host)
{
	struct policy *p = b->policy;
	struct policy_budget *budgets = grow(p->budgets, p->n_budgets, sizeof(*budgets));
	struct egress_budget *compiled = grow(p->egress.budgets, p->egress.n_budgets, sizeof(*compiled));
	const char *copy = arena_copy(b->arena, text, strlen(text));

	if (budgets)
		p->budgets = budgets;
	if (compiled)
		p->egress.budgets = compiled;
	if (!budgets || !compiled || !copy)
		return policy_no_memory(b);
	budgets[p->n_budgets] = (struct policy_budget){ .host = copy };
	for (int i = 0; i < EGRESS_DIRECTION_COUNT; i++)
		budgets[p->n_budgets].bytes[i].origin = (struct policy_origin){ .layer = POLICY_BUILT_IN, .path = "" };
	p->n_budgets++;
	compiled[p->egress.n_budgets++] = (struct egress_budget){ .host = *host };
	return 0;
}
