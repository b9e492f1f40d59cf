/* Which addresses are not ordinary global unicast. From the IANA special-purpose registries and the RFCs named here. */
#include "policy/address.h"

#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

struct range {
	uint8_t prefix[16];
	uint8_t bits;
};

static const struct range special_v4[] = {
	{ { 0 }, 8 },             /* "this network", RFC 791 */
	{ { 10 }, 8 },            /* private, RFC 1918 */
	{ { 100, 64 }, 10 },      /* carrier NAT, RFC 6598 */
	{ { 127 }, 8 },           /* loopback */
	{ { 169, 254 }, 16 },     /* link-local; metadata services of clouds */
	{ { 172, 16 }, 12 },      /* private */
	{ { 192, 0, 0 }, 24 },    /* IETF protocols, RFC 6890 */
	{ { 192, 0, 2 }, 24 },    /* documentation, RFC 5737 */
	{ { 192, 88, 99 }, 24 },  /* 6to4 relays, RFC 7526 */
	{ { 192, 168 }, 16 },     /* private */
	{ { 198, 18 }, 15 },      /* benchmarking, RFC 2544; our invented addresses */
	{ { 198, 51, 100 }, 24 }, /* documentation */
	{ { 203, 0, 113 }, 24 },  /* documentation */
	{ { 224 }, 4 },           /* multicast */
	{ { 240 }, 4 },           /* reserved, and the broadcast address */
};

/* Inside 2000::/3, the only part of the space that is global unicast. */
static const struct range special_v6[] = {
	{ { 0x20, 0x01, 0x00 }, 23 },       /* IETF protocols: Teredo, benchmarking, ORCHID, RFC 6890 */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation, RFC 3849 */
	{ { 0x20, 0x02 }, 16 },             /* 6to4, RFC 3056 */
	{ { 0x3f, 0xff, 0x00 }, 20 },       /* documentation, RFC 9637 */
};

static const struct range global_v6 = { { 0x20 }, 3 };

/* Where an IPv6 address holds an IPv4 one. */
struct embedding {
	struct range range;
	uint8_t at[4]; /* its four bytes */
	uint8_t flip;
	/* False: a tunnel that nobody should need, or a form that a network may use in another layout. Refused as
	 * special whatever lies inside. */
	bool equivalent;
};

static const struct embedding embeddings[] = {
	/* ::ffff:a.b.c.d, RFC 4291: the IPv4 address itself */
	{ { { [10] = 0xff, [11] = 0xff }, 96 }, { 12, 13, 14, 15 }, 0, true },
	/* ::a.b.c.d, RFC 4291, deprecated */
	{ { { 0 }, 96 }, { 12, 13, 14, 15 }, 0, false },
	/* 64:ff9b::a.b.c.d, RFC 6052: what DNS64 answers on networks without IPv4 */
	{ { { 0x00, 0x64, 0xff, 0x9b }, 96 }, { 12, 13, 14, 15 }, 0, true },
	/* 64:ff9b:1::/48, RFC 8215, in the /48 layout of RFC 6052 (byte 8 is skipped) */
	{ { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48 }, { 6, 7, 9, 10 }, 0, false },
	/* 2002:a.b.c.d::/48, RFC 3056 */
	{ { { 0x20, 0x02 }, 16 }, { 2, 3, 4, 5 }, 0, false },
	/* 2001:0::/32, RFC 4380: the client, every bit inverted */
	{ { { 0x20, 0x01 }, 32 }, { 12, 13, 14, 15 }, 0xff, false },
};

static bool in_range(int family, const uint8_t address[16], const struct range *range)
{
	return address_in_prefix(family, address, family, range->prefix, range->bits);
}

/* The embedding that holds the whole prefix. :: and ::1 are the unspecified and the loopback address, not IPv4. */
static const struct embedding *find_embedding(int family, const uint8_t prefix[16], unsigned bits)
{
	static const uint8_t zero[15];

	if (family != AF_INET6 || (bits == 128 && memcmp(prefix, zero, sizeof(zero)) == 0 && prefix[15] <= 1))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(embeddings); i++)
		if (bits >= embeddings[i].range.bits && in_range(AF_INET6, prefix, &embeddings[i].range))
			return &embeddings[i];
	return NULL;
}

int address_unwrap(int family, const uint8_t address[16], uint8_t ret[16])
{
	const struct embedding *found = find_embedding(family, address, 128);
	uint8_t inner[16] = { 0 };

	if (found) {
		for (size_t i = 0; i < ARRAY_SIZE(found->at); i++)
			inner[i] = address[found->at[i]] ^ found->flip;
		family = AF_INET;
	} else {
		memcpy(inner, address, family == AF_INET ? 4 : 16);
	}
	memcpy(ret, inner, sizeof(inner));
	return family;
}

/* Below any network, a host's part of ..00-5e-fe and an IPv4 address (ISATAP, RFC 5214): a tunnel to that address. */
static bool is_isatap(const uint8_t prefix[16], unsigned bits)
{
	static const uint8_t marks[] = { 0x00, 0x00, 0x5e, 0xfe };

	/* The two lowest bits of the first byte: universal, group. */
	return bits >= 96 && (prefix[8] & 0xfc) == marks[0] && memcmp(prefix + 9, marks + 1, 3) == 0;
}

bool address_prefix_is_embedded(int family, const uint8_t prefix[16], unsigned bits)
{
	return find_embedding(family, prefix, bits) != NULL;
}

bool address_prefix_is_special(int family, const uint8_t prefix[16], unsigned bits)
{
	const struct range *ranges = family == AF_INET ? special_v4 : special_v6;
	size_t n = family == AF_INET ? ARRAY_SIZE(special_v4) : ARRAY_SIZE(special_v6);

	if (family != AF_INET && family != AF_INET6)
		return true;
	if (family == AF_INET6 && bits >= global_v6.bits && !in_range(AF_INET6, prefix, &global_v6))
		return true;
	if (family == AF_INET6 && is_isatap(prefix, bits))
		return true;
	for (size_t i = 0; i < n; i++)
		if (bits >= ranges[i].bits && in_range(family, prefix, &ranges[i]))
			return true;
	return false;
}

bool address_is_special(int family, const uint8_t address[16])
{
	const struct embedding *found = find_embedding(family, address, 128);
	uint8_t inner[16];

	if (found && !found->equivalent)
		return true;
	family = address_unwrap(family, address, inner);
	return address_prefix_is_special(family, inner, family == AF_INET ? 32 : 128);
}
