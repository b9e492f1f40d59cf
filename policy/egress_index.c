/*
 * One array of rule numbers in two parts. Names: by (name, kind, deny, port), so that the rules of one name are
 * neighbours and one binary search finds them. Addresses: by (family, bits, network, deny, port), so that each prefix
 * length in use costs one binary search. Behind it, the names of allow rules once more, compared from their ends: what
 * lies below a name are neighbours there.
 */
#include "policy/egress_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/address.h"
#include "policy/hostname.h"

static bool is_by_name(const struct egress_rule *rule)
{
	return rule->kind == EGRESS_RULE_HOST || rule->kind == EGRESS_RULE_SUFFIX;
}

static int compare_number(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_tail(const struct egress_rule *a, const struct egress_rule *b)
{
	int r = compare_number(a->deny != 0, b->deny != 0);

	return r != 0 ? r : compare_number(a->port, b->port);
}

/* Rules that always count come before those for one connection. */
static int compare_whole_tail(const struct egress_rule *a, const struct egress_rule *b)
{
	int r = compare_tail(a, b);

	return r != 0 ? r : compare_number(a->once, b->once);
}

static int compare_names(const struct egress_rule *a, const struct egress_rule *b)
{
	int r = strcmp(a->name, b->name);

	if (r == 0)
		r = compare_number(a->kind, b->kind);
	return r != 0 ? r : compare_whole_tail(a, b);
}

static int compare_networks(const struct egress_rule *a, const struct egress_rule *b)
{
	int r = compare_number(a->kind, b->kind);

	if (r == 0)
		r = compare_number(a->family, b->family);
	if (r == 0)
		r = compare_number(a->bits, b->bits);
	return r != 0 ? r : memcmp(a->address, b->address, sizeof(a->address));
}

static int compare_addresses(const struct egress_rule *a, const struct egress_rule *b)
{
	int r = compare_networks(a, b);

	return r != 0 ? r : compare_whole_tail(a, b);
}

static int compare_indices(const void *left, const void *right, void *data)
{
	const struct egress_rule *rules = data;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
	int r = compare_number(!is_by_name(&rules[i]), !is_by_name(&rules[k]));

	if (r == 0)
		r = is_by_name(&rules[i]) ? compare_names(&rules[i], &rules[k])
					  : compare_addresses(&rules[i], &rules[k]);
	return r != 0 ? r : compare_number(i, k);
}

/* One byte at a time from the end; what has ended comes first. */
static int compare_ends(const char *a, size_t a_len, const char *b, size_t b_len)
{
	while (a_len > 0 && b_len > 0) {
		int r = (unsigned char)a[--a_len] - (unsigned char)b[--b_len];

		if (r != 0)
			return r;
	}
	return (a_len > 0) - (b_len > 0);
}

static int compare_index_ends(const void *left, const void *right, void *data)
{
	const struct egress_rule *rules = data;
	const char *a = rules[*(const uint32_t *)left].name, *b = rules[*(const uint32_t *)right].name;

	return compare_ends(a, strlen(a), b, strlen(b));
}

static int compare_pins(const void *left, const void *right)
{
	const struct egress_pin *a = left, *b = right;

	return strcmp(a->name, b->name);
}

const struct egress_pin *egress_pin_find(const struct egress_rules *r, const char *name)
{
	struct egress_pin key = { .name = name };

	return r->n_pins ? bsearch(&key, r->pins, r->n_pins, sizeof(key), compare_pins) : NULL;
}

int egress_rules_prepare(struct egress_rules *r)
{
	uint32_t *index = malloc(sizeof(*index) * (2 * (size_t)r->n_rules + 1));

	if (!index)
		return -ENOMEM;
	r->by_end = index + r->n_rules;
	r->n_by_name = r->n_by_end = 0;
	for (uint32_t i = 0; i < r->n_rules; i++) {
		index[i] = i;
		r->n_by_name += is_by_name(&r->rules[i]);
		if (is_by_name(&r->rules[i]) && !r->rules[i].deny)
			r->by_end[r->n_by_end++] = i;
	}
	qsort_r(index, r->n_rules, sizeof(*index), compare_indices, r->rules);
	if (r->n_by_end > 0)
		qsort_r(r->by_end, r->n_by_end, sizeof(*index), compare_index_ends, r->rules);
	if (r->n_pins > 0)
		qsort(r->pins, r->n_pins, sizeof(*r->pins), compare_pins);
	free(r->by_name);
	r->by_name = index;
	return 0;
}

void egress_rule_done(struct egress_rule *rule)
{
	free((char *)rule->name);
	free((char *)rule->why);
	rule->name = rule->why = NULL;
}

void egress_rules_done(struct egress_rules *r)
{
	for (uint32_t i = 0; i < r->n_rules; i++)
		egress_rule_done(&r->rules[i]);
	for (uint32_t i = 0; i < r->n_pins; i++)
		free((char *)r->pins[i].name);
	for (uint32_t i = 0; i < r->n_budgets; i++)
		egress_rule_done(&r->budgets[i].host);
	for (uint32_t i = 0; i < r->tls.n_no_sni; i++)
		egress_rule_done(&r->tls.no_sni[i]);
	free(r->rules);
	free(r->pins);
	free(r->budgets);
	free(r->tls.no_sni);
	free(r->by_name);
	*r = (struct egress_rules){ 0 };
}

typedef int compare_fn(const struct egress_rule *a, const struct egress_rule *b);

/* Same name and kind: the rules of one group are equal. */
static int compare_groups(const struct egress_rule *a, const struct egress_rule *b)
{
	int r = strcmp(a->name, b->name);

	return r != 0 ? r : compare_number(a->kind, b->kind);
}

/* The first position in first..end whose rule is not less than key. */
static uint32_t lower_bound(const struct egress_rules *r, uint32_t first, uint32_t end, const struct egress_rule *key,
			    compare_fn *compare)
{
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (compare(&r->rules[r->by_name[middle]], key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Likewise the first that is greater than key. */
static uint32_t upper_bound(const struct egress_rules *r, uint32_t first, uint32_t end, const struct egress_rule *key,
			    compare_fn *compare)
{
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (compare(&r->rules[r->by_name[middle]], key) <= 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

int egress_index_walk(const struct egress_rules *r, const char *name, egress_group_fn *fn, void *data)
{
	struct egress_rule key = { .kind = EGRESS_RULE_HOST, .name = name };

	if (!r->by_name)
		return 0;
	do {
		uint32_t first = lower_bound(r, 0, r->n_by_name, &key, compare_groups);
		uint32_t end = first;
		int result;

		if (first < r->n_by_name && compare_groups(&r->rules[r->by_name[first]], &key) == 0)
			end = upper_bound(r, first, r->n_by_name, &key, compare_groups);
		result = end > first ? fn(r, first, end, data) : 0;
		if (result != 0)
			return result;
		/* One label up. */
		key.kind = EGRESS_RULE_SUFFIX;
		key.name = strchr(key.name, '.');
		key.name = key.name ? key.name + 1 : NULL;
	} while (key.name);
	return 0;
}

static bool is_usable(const struct egress_rule *rule, uint32_t holds)
{
	return !rule->spent || rule->once == holds;
}

static void keep_first(uint32_t *kept, uint32_t found)
{
	if (*kept == EGRESS_NO_RULE)
		*kept = found;
}

/* The rules in first..end, one group, that have just this port and sense. */
static void find_port(const struct egress_rules *r, uint32_t first, uint32_t end, bool deny, uint16_t port,
		      struct egress_match *m)
{
	struct egress_rule key = { .deny = deny, .port = port };

	for (uint32_t at = lower_bound(r, first, end, &key, compare_tail); at < end; at++) {
		const struct egress_rule *rule = &r->rules[r->by_name[at]];

		if (compare_tail(rule, &key) != 0)
			return;
		if (deny || rule->once == 0) {
			keep_first(deny ? &m->deny : &m->allow, r->by_name[at]);
			return;
		}
		if (is_usable(rule, m->holds))
			keep_first(&m->once, r->by_name[at]);
	}
}

/* first..end: the rules of one name and kind, or of one network. */
static void match_group(const struct egress_rules *r, uint32_t first, uint32_t end, uint16_t port,
			struct egress_match *m)
{
	/* Without a port a deny rule means every port, an allow rule the two of the web. */
	find_port(r, first, end, true, port, m);
	find_port(r, first, end, true, 0, m);
	if (port != 0)
		find_port(r, first, end, false, port, m);
	if (port == 80 || port == 443)
		find_port(r, first, end, false, 0, m);
	for (uint32_t at = first; m->other == EGRESS_NO_RULE && at < end && !r->rules[r->by_name[at]].deny; at++)
		if (is_usable(&r->rules[r->by_name[at]], m->holds))
			m->other = r->by_name[at];
}

struct name_walk {
	uint16_t port;
	struct egress_match *match;
};

static int match_name_group(const struct egress_rules *r, uint32_t first, uint32_t end, void *data)
{
	struct name_walk *walk = data;

	match_group(r, first, end, walk->port, walk->match);
	return 0;
}

void egress_index_match_name(const struct egress_rules *r, const char *name, uint16_t port, struct egress_match *m)
{
	struct name_walk walk = { .port = port, .match = m };

	egress_index_walk(r, name, match_name_group, &walk);
}

/* The rules of key's network, if there are any; returns the position after them. */
static uint32_t match_network(const struct egress_rules *r, uint32_t at, const struct egress_rule *key, uint16_t port,
			      bool named_only, struct egress_match *m)
{
	struct egress_match found = EGRESS_MATCH_INIT;
	uint32_t first = lower_bound(r, at, r->n_rules, key, compare_networks);
	uint32_t end = upper_bound(r, first, r->n_rules, key, compare_networks);

	found.holds = m->holds;
	if (first == end)
		return first;
	match_group(r, first, end, port, &found);
	keep_first(&m->deny, found.deny);
	if (!named_only || address_prefix_is_special(key->family, key->address, key->bits)) {
		keep_first(&m->allow, found.allow);
		keep_first(&m->once, found.once);
		keep_first(&m->other, found.other);
	}
	return end;
}

void egress_index_match_address(const struct egress_rules *r, int family, const uint8_t address[16], uint16_t port,
				bool named_only, struct egress_match *m)
{
	struct egress_rule key = { .kind = EGRESS_RULE_ADDRESS, .family = family };
	uint32_t at;

	if (!r->by_name)
		return;
	at = lower_bound(r, r->n_by_name, r->n_rules, &key, compare_networks);
	/* One turn a prefix length in use. */
	while (at < r->n_rules) {
		const struct egress_rule *rule = &r->rules[r->by_name[at]];

		if (rule->kind != EGRESS_RULE_ADDRESS || rule->family != family || rule->bits > 128)
			return;
		key.bits = rule->bits;
		address_mask(family, address, key.bits, key.address);
		at = match_network(r, at, &key, port, named_only, m);
		/* The least rule of the next length. */
		key.bits++;
		memset(key.address, 0, sizeof(key.address));
		at = lower_bound(r, at, r->n_rules, &key, compare_networks);
	}
}

/* The first position in by_end whose name is not less than end. */
static uint32_t lower_end(const struct egress_rules *r, const char *end, size_t len)
{
	uint32_t first = 0, last = r->n_by_end;

	while (first < last) {
		uint32_t middle = first + (last - first) / 2;
		const char *name = r->rules[r->by_end[middle]].name;

		if (compare_ends(name, strlen(name), end, len) < 0)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

void egress_rule_spend(struct egress_rules *r, uint32_t rule)
{
	r->rules[rule].spent = r->rules[rule].once != 0;
}

void egress_rules_keep_spent(const struct egress_rules *before, struct egress_rules *after)
{
	for (uint32_t i = 0; i < before->n_rules; i++) {
		const struct egress_rule *spent = &before->rules[i];

		for (uint32_t k = 0; spent->spent && k < after->n_rules; k++)
			if (after->rules[k].once == spent->once)
				after->rules[k].spent = true;
	}
}

bool egress_has_below(const struct egress_rules *r, const char *name)
{
	struct egress_rule key = { .kind = EGRESS_RULE_SUFFIX, .name = name };
	size_t len = strlen(name) + 1;
	char end[HOSTNAME_MAX + 2];
	uint32_t at;

	if (!r->by_name || len > sizeof(end) - 1)
		return false;
	/* "*.name" itself */
	at = lower_bound(r, 0, r->n_by_name, &key, compare_groups);
	if (at < r->n_by_name && compare_groups(&r->rules[r->by_name[at]], &key) == 0 && !r->rules[r->by_name[at]].deny)
		return true;
	end[0] = '.';
	memcpy(end + 1, name, len);
	at = lower_end(r, end, len);
	if (at == r->n_by_end)
		return false;
	name = r->rules[r->by_end[at]].name;
	return strlen(name) > len && memcmp(name + strlen(name) - len, end, len) == 0;
}
