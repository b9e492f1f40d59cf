/* Prefixes that a network translates to IPv4 with: found by RFC 7050, in the layouts of RFC 6052. */
#include "policy/address.h"

#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* Where the four bytes lie behind a prefix of so many bits; byte 8 is zero but behind the longest. */
static const struct layout {
	uint8_t bits;
	uint8_t at[4];
} layouts[] = {
	{ 96, { 12, 13, 14, 15 } }, { 64, { 9, 10, 11, 12 } }, { 56, { 7, 9, 10, 11 } },
	{ 48, { 6, 7, 9, 10 } },    { 40, { 5, 6, 7, 9 } },    { 32, { 4, 5, 6, 7 } },
};

static void inner(const struct layout *l, const uint8_t address[16], uint8_t ret[4])
{
	for (int i = 0; i < 4; i++)
		ret[i] = address[l->at[i]];
}

bool address_nat64_learn(const uint8_t address[16], struct address_nat64 *ret)
{
	/* ipv4only.arpa */
	static const uint8_t known[2][4] = { { 192, 0, 0, 170 }, { 192, 0, 0, 171 } };
	uint8_t v4[4];

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		inner(&layouts[i], address, v4);
		if ((layouts[i].bits < 96 && address[8] != 0) ||
		    (memcmp(v4, known[0], 4) != 0 && memcmp(v4, known[1], 4) != 0))
			continue;
		ret->bits = layouts[i].bits;
		address_mask(AF_INET6, address, ret->bits, ret->prefix);
		return true;
	}
	return false;
}

bool address_nat64_unwrap(const struct address_nat64 *nat64, const uint8_t address[16], uint8_t ret[16])
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].bits != nat64->bits ||
		    !address_in_prefix(AF_INET6, address, AF_INET6, nat64->prefix, nat64->bits))
			continue;
		memset(ret, 0, 16);
		inner(&layouts[i], address, ret);
		return true;
	}
	return false;
}
