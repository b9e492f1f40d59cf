/*
 * Layout, little-endian: u32 magic, u32 version, u32 unlisted, u32 rules, u32 pins, u32 budgets; then the limits (u64
 * bytes out and in, u32 connections, a host's, new ones in a second, a host's), the rules, the pins and the budgets (a
 * rule, u64 bytes out and in); then for TLS a u8, 1 where ECH is denied, and a u32, the number of the rules that
 * follow: hosts that need not be named. An allow rule ends in a u32, the number of its one connection or 0; a deny rule
 * in the text for its users, "" for none. Strings are blocks that end in NUL; addresses have a u8 4 or 6 before their 4
 * or 16 bytes. Nothing may follow.
 */
#include "policy/egress_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "policy/address.h"
#include "policy/hostname.h"

/* The least that a rule or a pin takes: bounds the memory that a short message can ask for. */
#define RULE_MIN 8
#define PIN_MIN 9
#define BUDGET_MIN 24

static int append_address(struct buffer *b, int family, const uint8_t address[16])
{
	int r = buffer_append_u8(b, family == AF_INET ? 4 : 6);

	return r < 0 ? r : buffer_append(b, address, family == AF_INET ? 4 : 16);
}

static int read_address(struct cursor *c, uint8_t *ret_family, uint8_t ret[16])
{
	uint8_t version;
	int r = cursor_u8(c, &version);

	if (r == 0 && version != 4 && version != 6)
		r = -EBADMSG;
	memset(ret, 0, 16);
	for (unsigned i = 0; r == 0 && i < (version == 4 ? 4 : 16); i++)
		r = cursor_u8(c, &ret[i]);
	if (r == 0)
		*ret_family = version == 4 ? AF_INET : AF_INET6;
	return r;
}

static int append_name(struct buffer *b, const char *name)
{
	return buffer_append_block(b, name, strlen(name) + 1);
}

static int read_name(struct cursor *c, const char **ret)
{
	char canonical[HOSTNAME_MAX + 1];
	const char *name;
	int r = cursor_string(c, HOSTNAME_MAX + 1, &name);

	if (r < 0)
		return r;
	if (hostname_canonical(name, strlen(name), canonical) < 0 || strcmp(name, canonical) != 0 ||
	    hostname_is_localhost(name))
		return -EBADMSG;
	*ret = strdup(name);
	return *ret ? 0 : -ENOMEM;
}

static int append_end(struct buffer *b, const struct egress_rule *rule)
{
	if (rule->deny ? rule->once != 0 : rule->why != NULL)
		return -EINVAL;
	return rule->deny ? append_name(b, rule->why ? rule->why : "") : buffer_append_u32(b, rule->once);
}

static int read_end(struct cursor *c, struct egress_rule *ret)
{
	const char *why = "";
	int r = ret->deny ? cursor_string(c, LIMIT_DENY_REASON + 1, &why) : cursor_u32(c, &ret->once);

	if (r < 0 || !ret->deny || why[0] == '\0')
		return r;
	if (!egress_why_is_valid(why))
		return -EBADMSG;
	ret->why = strdup(why);
	return ret->why ? 0 : -ENOMEM;
}

static int encode_rule(const struct egress_rule *rule, struct buffer *ret)
{
	int r = buffer_append_u8(ret, rule->kind);

	if (r == 0)
		r = buffer_append_u8(ret, rule->deny != 0);
	if (r == 0)
		r = buffer_append_u16(ret, rule->port);
	if (r < 0)
		return r;
	if (rule->kind == EGRESS_RULE_HOST || rule->kind == EGRESS_RULE_SUFFIX) {
		r = append_name(ret, rule->name);
	} else if (rule->kind == EGRESS_RULE_ADDRESS) {
		r = buffer_append_u8(ret, rule->bits);
		if (r == 0)
			r = append_address(ret, rule->family, rule->address);
	} else {
		r = -EINVAL;
	}
	return r < 0 ? r : append_end(ret, rule);
}

static int encode_pin(const struct egress_pin *pin, struct buffer *ret)
{
	int r = append_name(ret, pin->name);

	if (r == 0)
		r = buffer_append_u32(ret, pin->n_addresses);
	for (uint32_t i = 0; r == 0 && i < pin->n_addresses; i++)
		r = append_address(ret, pin->addresses[i].family, pin->addresses[i].address);
	return r;
}

static int encode_bytes(const uint64_t bytes[EGRESS_DIRECTION_COUNT], struct buffer *ret)
{
	int r = buffer_append_u64(ret, bytes[EGRESS_OUT]);

	return r < 0 ? r : buffer_append_u64(ret, bytes[EGRESS_IN]);
}

static int encode_limits(const struct egress_limits *l, struct buffer *ret)
{
	const uint32_t numbers[] = { l->connections, l->host_connections, l->per_second, l->host_per_second };
	int r = encode_bytes(l->bytes, ret);

	for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		r = buffer_append_u32(ret, numbers[i]);
	return r;
}

static int encode_budget(const struct egress_budget *b, struct buffer *ret)
{
	int r = b->host.deny ? encode_rule(&b->host, ret) : -EINVAL;

	return r < 0 ? r : encode_bytes(b->bytes, ret);
}

/* An address is never named: a rule for one would say nothing. */
static bool can_be_unnamed(const struct egress_rule *rule)
{
	return rule->deny && !rule->why && (rule->kind == EGRESS_RULE_HOST || rule->kind == EGRESS_RULE_SUFFIX);
}

static int encode_tls(const struct egress_tls *t, struct buffer *ret)
{
	int r = buffer_append_u8(ret, t->ech_denied);

	if (r == 0)
		r = buffer_append_u32(ret, t->n_no_sni);
	for (uint32_t i = 0; r == 0 && i < t->n_no_sni; i++)
		r = can_be_unnamed(&t->no_sni[i]) ? encode_rule(&t->no_sni[i], ret) : -EINVAL;
	return r;
}

int egress_encode(const struct egress_rules *r, struct buffer *ret)
{
	const uint32_t head[] = { EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, r->unlisted,
				  r->n_rules,        r->n_pins,           r->n_budgets };
	size_t start = ret->len;
	int result = 0;

	if (r->n_rules > LIMIT_EGRESS_RULES || r->n_pins > LIMIT_EGRESS_RULES || r->n_budgets > LIMIT_EGRESS_BUDGETS ||
	    r->tls.n_no_sni > LIMIT_EGRESS_NO_SNI)
		return -EMSGSIZE;
	for (size_t i = 0; result == 0 && i < sizeof(head) / sizeof(head[0]); i++)
		result = buffer_append_u32(ret, head[i]);
	if (result == 0)
		result = encode_limits(&r->limits, ret);
	for (uint32_t i = 0; result == 0 && i < r->n_rules; i++)
		result = encode_rule(&r->rules[i], ret);
	for (uint32_t i = 0; result == 0 && i < r->n_pins; i++)
		result = encode_pin(&r->pins[i], ret);
	for (uint32_t i = 0; result == 0 && i < r->n_budgets; i++)
		result = encode_budget(&r->budgets[i], ret);
	if (result == 0)
		result = encode_tls(&r->tls, ret);
	if (result == 0 && ret->len - start > LIMIT_EGRESS)
		result = -EMSGSIZE;
	return result;
}

static int decode_network(struct cursor *c, struct egress_rule *ret)
{
	uint8_t masked[16];
	int r = cursor_u8(c, &ret->bits);

	if (r == 0)
		r = read_address(c, &ret->family, ret->address);
	if (r < 0)
		return r;
	if (ret->bits > (ret->family == AF_INET ? 32 : 128))
		return -EBADMSG;
	address_mask(ret->family, ret->address, ret->bits, masked);
	return memcmp(masked, ret->address, sizeof(masked)) == 0 ? 0 : -EBADMSG;
}

static int decode_host(struct cursor *c, struct egress_rule *ret)
{
	int r = read_name(c, &ret->name);

	/* "*.com" would be most of the world. */
	return r == 0 && ret->kind == EGRESS_RULE_SUFFIX && !strchr(ret->name, '.') ? -EBADMSG : r;
}

static int decode_rule(struct cursor *c, struct egress_rule *ret)
{
	int r = cursor_u8(c, &ret->kind);

	if (r == 0)
		r = cursor_u8(c, &ret->deny);
	if (r == 0)
		r = cursor_u16(c, &ret->port);
	if (r < 0)
		return r;
	if (ret->deny > 1)
		return -EBADMSG;
	if (ret->kind == EGRESS_RULE_ADDRESS)
		r = decode_network(c, ret);
	else if (ret->kind == EGRESS_RULE_HOST || ret->kind == EGRESS_RULE_SUFFIX)
		r = decode_host(c, ret);
	else
		r = -EBADMSG;
	return r < 0 ? r : read_end(c, ret);
}

static int decode_pin(struct cursor *c, struct egress_pin *ret)
{
	int r = read_name(c, &ret->name);

	if (r == 0)
		r = cursor_u32(c, &ret->n_addresses);
	if (r == 0 && (ret->n_addresses == 0 || ret->n_addresses > LIMIT_PINNED_ADDRESSES))
		r = -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < ret->n_addresses; i++)
		r = read_address(c, &ret->addresses[i].family, ret->addresses[i].address);
	return r;
}

static int decode_bytes(struct cursor *c, uint64_t ret[EGRESS_DIRECTION_COUNT])
{
	int r = cursor_u64(c, &ret[EGRESS_OUT]);

	return r < 0 ? r : cursor_u64(c, &ret[EGRESS_IN]);
}

static int decode_limits(struct cursor *c, struct egress_limits *ret)
{
	uint32_t *const numbers[] = { &ret->connections, &ret->host_connections, &ret->per_second,
				      &ret->host_per_second };
	int r = decode_bytes(c, ret->bytes);

	for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		r = cursor_u32(c, numbers[i]);
	if (r == 0 && (ret->per_second > LIMIT_EGRESS_RATE || ret->host_per_second > LIMIT_EGRESS_RATE))
		r = -EBADMSG;
	return r;
}

static int decode_budget(struct cursor *c, struct egress_budget *ret)
{
	int r = decode_rule(c, &ret->host);

	if (r == 0 && !ret->host.deny)
		r = -EBADMSG;
	return r < 0 ? r : decode_bytes(c, ret->bytes);
}

static int decode_tls(struct cursor *c, struct egress_tls *ret)
{
	uint32_t n = 0;
	uint8_t denied = 0;
	int r = cursor_u8(c, &denied);

	if (r == 0)
		r = cursor_u32(c, &n);
	if (r == 0 && (denied > 1 || n > LIMIT_EGRESS_NO_SNI || (size_t)(c->end - c->at) < (size_t)n * RULE_MIN))
		r = -EBADMSG;
	if (r < 0)
		return r;
	ret->ech_denied = denied;
	ret->no_sni = calloc(n + (size_t)1, sizeof(*ret->no_sni));
	if (!ret->no_sni)
		return -ENOMEM;
	while (r == 0 && ret->n_no_sni < n) {
		struct egress_rule *rule = &ret->no_sni[ret->n_no_sni++];

		r = decode_rule(c, rule);
		if (r == 0 && !can_be_unnamed(rule))
			r = -EBADMSG;
	}
	return r;
}

struct counts {
	uint32_t rules, pins, budgets;
};

static int decode_head(struct cursor *c, uint32_t *ret_unlisted, struct counts *ret)
{
	uint32_t magic, version, unlisted;

	if (cursor_u32(c, &magic) < 0 || cursor_u32(c, &version) < 0 || cursor_u32(c, &unlisted) < 0 ||
	    cursor_u32(c, &ret->rules) < 0 || cursor_u32(c, &ret->pins) < 0 || cursor_u32(c, &ret->budgets) < 0)
		return -EBADMSG;
	if (magic != EGRESS_WIRE_MAGIC || version != EGRESS_WIRE_VERSION || unlisted >= EGRESS_UNLISTED_COUNT ||
	    ret->rules > LIMIT_EGRESS_RULES || ret->pins > LIMIT_EGRESS_RULES || ret->budgets > LIMIT_EGRESS_BUDGETS ||
	    (size_t)(c->end - c->at) <
		    (size_t)ret->rules * RULE_MIN + (size_t)ret->pins * PIN_MIN + (size_t)ret->budgets * BUDGET_MIN)
		return -EBADMSG;
	*ret_unlisted = unlisted;
	return 0;
}

/* Counts rise with each name that is owned, so that egress_rules_done() frees a half-read set. */
static int decode_body(struct cursor *c, const struct counts *n, struct egress_rules *ret)
{
	int r = decode_limits(c, &ret->limits);

	ret->rules = calloc(n->rules + (size_t)1, sizeof(*ret->rules));
	ret->pins = calloc(n->pins + (size_t)1, sizeof(*ret->pins));
	ret->budgets = calloc(n->budgets + (size_t)1, sizeof(*ret->budgets));
	if (!ret->rules || !ret->pins || !ret->budgets)
		return -ENOMEM;
	while (r == 0 && ret->n_rules < n->rules)
		r = decode_rule(c, &ret->rules[ret->n_rules++]);
	while (r == 0 && ret->n_pins < n->pins)
		r = decode_pin(c, &ret->pins[ret->n_pins++]);
	while (r == 0 && ret->n_budgets < n->budgets)
		r = decode_budget(c, &ret->budgets[ret->n_budgets++]);
	if (r == 0)
		r = decode_tls(c, &ret->tls);
	if (r == 0 && c->at != c->end)
		r = -EBADMSG;
	if (r == 0)
		r = egress_rules_prepare(ret);
	/* Pins are sorted now; which of two for one name counts must not depend on the sort. */
	for (uint32_t i = 1; r == 0 && i < ret->n_pins; i++)
		if (strcmp(ret->pins[i - 1].name, ret->pins[i].name) == 0)
			r = -EBADMSG;
	return r;
}

int egress_decode(const void *data, size_t len, struct egress_rules *ret)
{
	struct cursor c = { .at = data };
	struct egress_rules rules = { 0 };
	uint32_t unlisted = 0;
	struct counts n;
	int r;

	if (len == 0 || len > LIMIT_EGRESS)
		return -EBADMSG;
	c.end = c.at + len;
	r = decode_head(&c, &unlisted, &n);
	if (r == 0)
		r = decode_body(&c, &n, &rules);
	if (r < 0) {
		egress_rules_done(&rules);
		return r;
	}
	rules.unlisted = unlisted;
	*ret = rules;
	return 0;
}
