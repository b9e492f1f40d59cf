#include "daemon/session/gateway/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/address.h"

/* host[:port] or [host][:port]; what the host is, is not looked at. *ret_port 0: none is given. */
static int split(const char *text, size_t len, const char **ret_host, size_t *ret_host_len, uint16_t *ret_port)
{
	bool brackets = len > 0 && text[0] == '[';
	const char *host = text + brackets, *end = memchr(host, brackets ? ']' : ':', len - brackets), *rest;

	if (brackets && !end)
		return -EINVAL;
	if (!end)
		end = text + len;
	rest = end + brackets;
	if (end == host)
		return -EINVAL;
	*ret_port = 0;
	if (rest < text + len &&
	    (*rest != ':' || hostname_parse_port(rest + 1, (size_t)(text + len - rest - 1), ret_port) < 0))
		return -EINVAL;
	*ret_host = host;
	*ret_host_len = (size_t)(end - host);
	return 0;
}

int target_from_host(const char *host, size_t len, uint16_t port, struct target *ret)
{
	struct target t = { .port = port };
	uint8_t address[16];
	int family = address_parse(host, len, address);

	if (family == AF_INET || family == AF_INET6)
		target_from_address(family, address, port, ret);
	else if (hostname_canonical(host, len, t.name) < 0)
		return -EDOM;
	else
		*ret = t;
	return 0;
}

int target_parse(const char *text, size_t len, uint16_t default_port, struct target *ret)
{
	struct target t;
	const char *host;
	size_t host_len;
	uint16_t port;
	int r;

	if (split(text, len, &host, &host_len, &port) < 0)
		return -EINVAL;
	if (port == 0)
		port = default_port;
	if (port == 0)
		return -EINVAL;
	r = target_from_host(host, host_len, port, &t);
	/* Brackets are for IPv6 alone. */
	if (r < 0 || (host > text && !(t.is_literal && t.family == AF_INET6)))
		return -EDOM;
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

struct egress_target target_for_egress(const struct target *t)
{
	struct egress_target e = { .name = t->is_literal ? NULL : t->name, .family = t->family, .port = t->port };

	memcpy(e.address, t->address, sizeof(e.address));
	return e;
}

void target_decide(const struct target *t, const struct egress_rules *rules, uint32_t holds, struct egress_verdict *ret)
{
	struct egress_target e = target_for_egress(t);

	e.holds = holds;
	egress_decide(rules, &e, ret);
}
