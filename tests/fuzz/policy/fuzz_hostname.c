/* Names, host:port and rule entries from foreign bytes. What is canonical stays as it is; a slice lies in the input. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/address.h"
#include "policy/egress.h"
#include "policy/hostname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_stable(const char *name)
{
	char again[HOSTNAME_MAX + 1];

	if (hostname_canonical(name, strlen(name), again) < 0 || strcmp(name, again) != 0)
		abort();
}

static void split(const char *text, size_t len)
{
	const char *host;
	size_t host_len;
	uint16_t port;
	uint8_t address[16];
	bool v6;

	if (hostname_split_port(text, len, &host, &host_len, &v6, &port) < 0)
		return;
	if (host < text || host + host_len > text + len || host_len == 0)
		abort();
	if (v6 && address_parse(host, host_len, address) < 0)
		abort();
}

static void rule(const char *text)
{
	struct error e = ERROR_INIT;
	struct egress_rule rule;

	if (egress_rule_parse(text, false, &rule, &e) < 0) {
		if (e.code == ERROR_NONE || e.message[0] == '\0')
			abort();
		return;
	}
	if (rule.name)
		must_be_stable(rule.name);
	if (rule.kind == EGRESS_RULE_SUFFIX && !strchr(rule.name, '.'))
		abort();
	free((char *)rule.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	_cleanup_free_ char *text = malloc(size + 1);
	char name[HOSTNAME_MAX + 1];
	uint8_t address[16], inner[16];
	int family;

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (hostname_canonical(bytes, size, name) == 0) {
		must_be_stable(name);
		/* No name is also an address. */
		if (address_parse(name, strlen(name), address) >= 0)
			abort();
	}
	if (hostname_canonical_idn(text, name) == 0)
		must_be_stable(name);
	family = address_parse(bytes, size, address);
	if (family >= 0)
		address_is_special(address_unwrap(family, address, inner), inner);
	split(bytes, size);
	rule(text);
	return 0;
}
