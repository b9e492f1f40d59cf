#include "policy/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int address_parse(const char *text, size_t len, uint8_t ret[16])
{
	char copy[INET6_ADDRSTRLEN];
	uint8_t address[16] = { 0 };
	int family;

	if (len == 0 || len >= sizeof(copy) || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	family = memchr(copy, ':', len) ? AF_INET6 : AF_INET;
	/* inet_pton() refuses leading zeros, short and hexadecimal forms and zones; inet_aton() would take them. */
	if (inet_pton(family, copy, address) != 1)
		return -EINVAL;
	memcpy(ret, address, sizeof(address));
	return family;
}

static unsigned family_bits(int family)
{
	return family == AF_INET ? 32 : 128;
}

void address_mask(int family, const uint8_t address[16], unsigned bits, uint8_t ret[16])
{
	unsigned n = family_bits(family) / 8;

	for (unsigned i = 0; i < 16; i++) {
		unsigned kept = bits > i * 8 ? bits - i * 8 : 0;

		ret[i] = i < n ? address[i] & (kept >= 8 ? 0xff : (uint8_t)(0xff00 >> kept)) : 0;
	}
}

bool address_in_prefix(int family, const uint8_t address[16], int prefix_family, const uint8_t prefix[16],
		       unsigned bits)
{
	uint8_t masked[16], network[16];

	if (family != prefix_family || bits > family_bits(family))
		return false;
	address_mask(family, address, bits, masked);
	address_mask(family, prefix, bits, network);
	return memcmp(masked, network, sizeof(masked)) == 0;
}

const char *address_format(int family, const uint8_t address[16], char ret[64])
{
	if (!inet_ntop(family, address, ret, 64))
		snprintf(ret, 64, "?");
	return ret;
}
