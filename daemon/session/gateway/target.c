#include "daemon/session/gateway/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/address.h"

static bool looks_like_host(const char *host, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i], l = c | 0x20;

		if (!((l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
			return false;
	}
	return len > 0;
}

int target_parse(const char *text, size_t len, uint16_t default_port, struct target *ret)
{
	struct target t = { 0 };
	uint8_t address[16];
	const char *host;
	size_t host_len;
	uint16_t port;
	int family;
	bool v6;

	if (hostname_split_port(text, len, &host, &host_len, &v6, &port) < 0)
		return -EINVAL;
	if (port == 0)
		port = default_port;
	if (port == 0)
		return -EINVAL;
	family = address_parse(host, host_len, address);
	if (v6 != (family == AF_INET6))
		return -EINVAL;
	if (family == AF_INET || family == AF_INET6) {
		target_from_address(family, address, port, ret);
		return 0;
	}
	if (!looks_like_host(host, host_len))
		return -EINVAL;
	if (hostname_canonical(host, host_len, t.name) < 0)
		return -EDOM;
	t.port = port;
	*ret = t;
	return 0;
}

void target_from_address(int family, const uint8_t address[16], uint16_t port, struct target *ret)
{
	char text[64];

	*ret = (struct target){ .is_literal = true, .family = (uint8_t)family, .port = port };
	memcpy(ret->address, address, family == AF_INET ? 4 : 16);
	snprintf(ret->name, sizeof(ret->name), "%s", address_format(family, ret->address, text));
}

int target_from_name(const char *canonical, uint16_t port, struct target *ret)
{
	size_t len = strlen(canonical);

	if (len == 0 || len > HOSTNAME_MAX || port == 0)
		return -EINVAL;
	*ret = (struct target){ .port = port };
	memcpy(ret->name, canonical, len);
	return 0;
}

bool target_equal(const struct target *a, const struct target *b)
{
	if (a->port != b->port || a->is_literal != b->is_literal)
		return false;
	if (a->is_literal)
		return a->family == b->family && memcmp(a->address, b->address, sizeof(a->address)) == 0;
	return strcmp(a->name, b->name) == 0;
}

void target_authority(const struct target *t, uint16_t default_port, char ret[TARGET_AUTHORITY_MAX])
{
	bool v6 = t->is_literal && t->family == AF_INET6;
	int n = snprintf(ret, TARGET_AUTHORITY_MAX, "%s%s%s", v6 ? "[" : "", t->name, v6 ? "]" : "");

	if (t->port != default_port)
		snprintf(ret + n, (size_t)(TARGET_AUTHORITY_MAX - n), ":%u", t->port);
}

void target_decide(const struct target *t, const struct egress_rules *rules, struct egress_verdict *ret)
{
	struct egress_target e = { .name = t->is_literal ? NULL : t->name, .family = t->family, .port = t->port };

	memcpy(e.address, t->address, sizeof(e.address));
	egress_decide(rules, &e, ret);
}
