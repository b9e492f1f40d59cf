/*
 * Layout, little-endian: u32 magic, u32 version, u16 port, u8 family (0: a name, 4, 6), the name as a block that ends
 * in NUL or the bytes of the address; then the rules of bypass in their own wire form.
 */
#include "policy/egress_proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "policy/address.h"
#include "policy/egress_wire.h"
#include "policy/hostname.h"

void egress_proxy_done(struct egress_proxy *p)
{
	free((char *)p->name);
	egress_rules_done(&p->bypass);
	*p = (struct egress_proxy){ .name = NULL };
}

/* Loopback and link-local. */
static bool is_local(uint8_t family, const uint8_t address[16])
{
	static const struct {
		uint8_t family, bits, prefix[16];
	} local[] = {
		{ AF_INET, 8, { 127 } },
		{ AF_INET, 16, { 169, 254 } },
		{ AF_INET6, 128, { [15] = 1 } },
		{ AF_INET6, 10, { 0xfe, 0x80 } },
	};
	uint8_t inner[16];
	int inner_family = address_unwrap(family, address, inner);

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (address_in_prefix(inner_family, inner, local[i].family, local[i].prefix, local[i].bits))
			return true;
	return false;
}

static bool is_bypassed(const struct egress_proxy *p, const struct egress_target *t)
{
	struct egress_verdict v;

	egress_decide(&p->bypass, t, &v);
	return v.reason == EGRESS_DENIED;
}

static bool takes_address(const struct egress_proxy *p, uint8_t family, const uint8_t address[16], uint16_t port)
{
	struct egress_target literal = { .family = family, .port = port };

	memcpy(literal.address, address, sizeof(literal.address));
	return !is_local(family, address) && !is_bypassed(p, &literal);
}

bool egress_proxy_takes(const struct egress_proxy *p, const struct egress_rules *rules, const struct egress_target *t)
{
	const struct egress_pin *pin;

	if (!p)
		return false;
	if (!t->name)
		return takes_address(p, t->family, t->address, t->port);
	if (is_bypassed(p, t) || hostname_is_localhost(t->name))
		return false;
	pin = egress_pin_find(rules, t->name);
	for (uint32_t i = 0; pin && i < pin->n_addresses; i++)
		if (!takes_address(p, pin->addresses[i].family, pin->addresses[i].address, t->port))
			return false;
	return true;
}

int egress_proxy_encode(const struct egress_proxy *p, struct buffer *ret)
{
	int r = buffer_append_u32(ret, EGRESS_PROXY_MAGIC);

	if (r == 0)
		r = buffer_append_u32(ret, EGRESS_PROXY_VERSION);
	if (r == 0)
		r = buffer_append_u16(ret, p->port);
	if (r == 0)
		r = buffer_append_u8(ret, p->name ? 0 : p->family == AF_INET ? 4 : 6);
	if (r == 0)
		r = p->name ? buffer_append_block(ret, p->name, strlen(p->name) + 1)
			    : buffer_append(ret, p->address, p->family == AF_INET ? 4 : 16);
	return r < 0 ? r : egress_encode(&p->bypass, ret);
}

static int decode_name(struct cursor *c, struct egress_proxy *ret)
{
	char canonical[HOSTNAME_MAX + 1];
	const char *name;
	int r = cursor_string(c, HOSTNAME_MAX + 1, &name);

	if (r < 0)
		return r;
	if (hostname_canonical(name, strlen(name), canonical) < 0 || strcmp(name, canonical) != 0)
		return -EBADMSG;
	ret->name = strdup(name);
	return ret->name ? 0 : -ENOMEM;
}

static int decode_host(struct cursor *c, struct egress_proxy *ret)
{
	uint8_t version;
	int r = cursor_u8(c, &version);

	if (r < 0 || version == 0)
		return r < 0 ? r : decode_name(c, ret);
	if (version != 4 && version != 6)
		return -EBADMSG;
	ret->family = version == 4 ? AF_INET : AF_INET6;
	for (unsigned i = 0; r == 0 && i < (version == 4 ? 4 : 16); i++)
		r = cursor_u8(c, &ret->address[i]);
	return r;
}

static int decode(struct cursor *c, struct egress_proxy *ret)
{
	uint32_t magic, version;
	int r;

	if (cursor_u32(c, &magic) < 0 || cursor_u32(c, &version) < 0 || cursor_u16(c, &ret->port) < 0 ||
	    magic != EGRESS_PROXY_MAGIC || version != EGRESS_PROXY_VERSION || ret->port == 0)
		return -EBADMSG;
	r = decode_host(c, ret);
	if (r == 0)
		r = egress_decode(c->at, (size_t)(c->end - c->at), &ret->bypass);
	for (uint32_t i = 0; r == 0 && i < ret->bypass.n_rules; i++)
		if (!ret->bypass.rules[i].deny)
			r = -EBADMSG;
	return r == 0 && ret->bypass.n_pins > 0 ? -EBADMSG : r;
}

int egress_proxy_decode(const void *data, size_t len, struct egress_proxy *ret)
{
	struct cursor c = { .at = data };
	struct egress_proxy p = { .name = NULL };
	int r;

	if (len == 0 || len > LIMIT_EGRESS)
		return -EBADMSG;
	c.end = c.at + len;
	r = decode(&c, &p);
	if (r < 0) {
		egress_proxy_done(&p);
		return r;
	}
	*ret = p;
	return 0;
}
