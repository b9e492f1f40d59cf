#include "policy/egress.h"

#include <string.h>

#include "policy/address.h"
#include "policy/egress_index.h"
#include "policy/hostname.h"

static void verdict(struct egress_verdict *ret, uint32_t reason, uint32_t rule)
{
	*ret = (struct egress_verdict){ .allowed = reason == EGRESS_ALLOWED || reason == EGRESS_LEARNED,
					.reason = reason,
					.rule = rule };
}

/* A name in another spelling would slip past a deny rule. */
static bool is_canonical(const char *name)
{
	char canonical[HOSTNAME_MAX + 1];

	return hostname_canonical(name, strlen(name), canonical) == 0 && strcmp(name, canonical) == 0;
}

static void decide_match(const struct egress_match *m, uint32_t otherwise, struct egress_verdict *ret)
{
	if (m->deny != EGRESS_NO_RULE)
		verdict(ret, EGRESS_DENIED, m->deny);
	else if (m->allow != EGRESS_NO_RULE)
		verdict(ret, EGRESS_ALLOWED, m->allow);
	else if (m->once != EGRESS_NO_RULE)
		verdict(ret, EGRESS_ALLOWED, m->once);
	else if (m->other != EGRESS_NO_RULE)
		verdict(ret, EGRESS_PORT, m->other);
	else
		verdict(ret, otherwise, EGRESS_NO_RULE);
}

static void decide_by_rule(const struct egress_rules *r, const char *name, uint16_t port, uint32_t holds,
			   struct egress_verdict *ret)
{
	struct egress_match m = EGRESS_MATCH_INIT;

	m.holds = holds;
	egress_index_match_name(r, name, port, &m);
	decide_match(&m, EGRESS_NOT_LISTED, ret);
}

/* No rule allows it and none denies it. */
static void decide_unlisted(const struct egress_rules *r, const char *name, struct egress_verdict *v)
{
	if (r->unlisted == EGRESS_UNLISTED_DENY || (v->reason != EGRESS_NOT_LISTED && v->reason != EGRESS_PORT) ||
	    !hostname_is_public(name))
		return;
	verdict(v, r->unlisted == EGRESS_UNLISTED_LEARN ? EGRESS_LEARNED : EGRESS_ASKED, EGRESS_NO_RULE);
}

static void decide_name(const struct egress_rules *r, const char *name, uint16_t port, uint32_t holds,
			struct egress_verdict *ret)
{
	decide_by_rule(r, name, port, holds, ret);
	decide_unlisted(r, name, ret);
}

static void decide_literal(const struct egress_rules *r, const struct egress_target *t, struct egress_verdict *ret)
{
	struct egress_match m = EGRESS_MATCH_INIT;
	bool special = address_is_special(t->family, t->address);
	uint8_t address[16];
	int family = address_unwrap(t->family, t->address, address);

	m.holds = t->holds;
	egress_index_match_address(r, family, address, t->port, special, &m);
	decide_match(&m, special ? EGRESS_PRIVATE_ADDRESS : EGRESS_ADDRESS_LITERAL, ret);
}

void egress_decide(const struct egress_rules *r, const struct egress_target *t, struct egress_verdict *ret)
{
	if (t->port == 0)
		verdict(ret, EGRESS_PORT, EGRESS_NO_RULE);
	else if (!t->name)
		decide_literal(r, t, ret);
	else if (!is_canonical(t->name))
		verdict(ret, EGRESS_BAD_NAME, EGRESS_NO_RULE);
	else if (!r->has_localhost && hostname_is_localhost(t->name))
		verdict(ret, EGRESS_PRIVATE_ADDRESS, EGRESS_NO_RULE);
	else
		decide_name(r, t->name, t->port, t->holds, ret);
}

struct dns_walk {
	const char *name;
	struct egress_verdict *verdict;
};

/* Is there a port that an allow rule of this group opens and no deny rule closes? */
static int decide_dns_group(const struct egress_rules *r, uint32_t first, uint32_t end, void *data)
{
	static const uint16_t web[] = { 443, 80 };
	struct dns_walk *walk = data;

	for (uint32_t i = first; i < end; i++) {
		const struct egress_rule *rule = &r->rules[r->by_name[i]];
		const uint16_t *ports = rule->port ? &rule->port : web;

		if (rule->deny)
			break;
		for (unsigned k = 0; k < (rule->port ? 1 : 2); k++) {
			decide_by_rule(r, walk->name, ports[k], 0, walk->verdict);
			if (walk->verdict->allowed)
				return 1;
		}
	}
	return 0;
}

void egress_decide_dns(const struct egress_rules *r, const char *name, struct egress_verdict *ret)
{
	struct dns_walk walk = { .name = name, .verdict = ret };

	verdict(ret, EGRESS_NOT_LISTED, EGRESS_NO_RULE);
	if (!is_canonical(name)) {
		verdict(ret, EGRESS_BAD_NAME, EGRESS_NO_RULE);
	} else if (hostname_is_localhost(name)) {
		verdict(ret, EGRESS_PRIVATE_ADDRESS, EGRESS_NO_RULE);
	} else if (egress_index_walk(r, name, decide_dns_group, &walk) == 0) {
		/* Not allowed anywhere: say so by the deny rule, if it was one. Port 0 is met by rules for every port.
		 */
		if (ret->reason != EGRESS_DENIED)
			decide_name(r, name, 0, 0, ret);
	}
}

static bool pin_holds(const struct egress_pin *pin, int family, const uint8_t address[16])
{
	for (uint32_t i = 0; pin && i < pin->n_addresses; i++) {
		uint8_t pinned[16];

		if (address_unwrap(pin->addresses[i].family, pin->addresses[i].address, pinned) == family &&
		    memcmp(pinned, address, sizeof(pinned)) == 0)
			return true;
	}
	return false;
}

/* Its address is known to the administrator, who says nothing of who may go there. */
static bool is_only_learned(const struct egress_rules *r, const char *name, uint16_t port)
{
	struct egress_verdict v;

	if (r->unlisted != EGRESS_UNLISTED_LEARN)
		return false;
	decide_by_rule(r, name, port, 0, &v);
	return !v.allowed;
}

void egress_decide_address(const struct egress_rules *r, const char *name, uint8_t family, const uint8_t *address,
			   uint16_t port, struct egress_verdict *ret)
{
	struct egress_match m = EGRESS_MATCH_INIT;
	bool special = address_is_special(family, address);
	uint8_t inner[16];
	int inner_family = address_unwrap(family, address, inner);

	egress_index_match_address(r, inner_family, inner, port, special, &m);
	if (m.deny != EGRESS_NO_RULE)
		verdict(ret, EGRESS_DENIED, m.deny);
	else if (!special ||
		 (pin_holds(egress_pin_find(r, name), inner_family, inner) && !is_only_learned(r, name, port)))
		verdict(ret, EGRESS_ALLOWED, EGRESS_NO_RULE);
	else if (m.allow != EGRESS_NO_RULE)
		verdict(ret, EGRESS_ALLOWED, m.allow);
	else
		verdict(ret, EGRESS_PRIVATE_ADDRESS, EGRESS_NO_RULE);
}
