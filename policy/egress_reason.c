#include <stddef.h>

#include "base/cleanup.h"
#include "policy/egress.h"

struct reason {
	const char *name;
	const char *text;
};

static const struct reason reasons[] = {
	[EGRESS_ALLOWED] = { "allowed", "A rule of the policy allows it." },
	[EGRESS_NOT_LISTED] = { "not-listed", "No rule of the policy names this host." },
	[EGRESS_DENIED] = { "denied", "A deny rule of the policy names this host." },
	[EGRESS_PORT] = { "port", "The policy allows this host, but not this port." },
	[EGRESS_PRIVATE_ADDRESS] = { "private-address",
				     "The host has a private or special address that no rule names." },
	[EGRESS_ADDRESS_LITERAL] = { "address-literal",
				     "An address was used instead of a name, and no rule names it." },
	[EGRESS_BAD_NAME] = { "bad-name", "This is not a valid host name." },
	[EGRESS_SNI_MISMATCH] = { "sni-mismatch", "The TLS server name is not the host that was asked for." },
	[EGRESS_SNI_MISSING] = { "sni-missing", "The TLS ClientHello names no server." },
	[EGRESS_HOST_MISMATCH] = { "host-mismatch", "The Host header names another host." },
	[EGRESS_NOT_TLS] = { "not-tls", "Port 443 was used without TLS." },
	[EGRESS_BAD_TLS] = { "bad-tls", "The TLS ClientHello is malformed." },
	[EGRESS_BAD_HTTP] = { "bad-http", "The HTTP request is malformed." },
	[EGRESS_UNRESOLVED] = { "unresolved", "The host name has no address." },
	[EGRESS_UNREACHABLE] = { "unreachable", "The host did not answer." },
	[EGRESS_UNKNOWN_ADDRESS] = { "unknown-address", "This address stands for no name of this session." },
	[EGRESS_LIMIT] = { "limit", "A limit of the session is reached." },
	[EGRESS_PROTOCOL] = { "protocol", "Only TCP and DNS leave the sandbox." },
	[EGRESS_QUERY_TYPE] = { "query-type", "This type of DNS query is not answered." },
	[EGRESS_TLS_TO_PROXY] = { "tls-to-proxy", "The proxy is reached by plain HTTP, and TLS was sent to it." },
	[EGRESS_ECH] = { "ech", "The TLS server name is encrypted, so it cannot be checked." },
	[EGRESS_TIMEOUT] = { "timeout", "The client did not say in time what it wants." },
};
_Static_assert(ARRAY_SIZE(reasons) == EGRESS_REASON_COUNT, "one entry a reason");

const char *egress_reason_name(uint32_t reason)
{
	return reason < EGRESS_REASON_COUNT ? reasons[reason].name : "unknown";
}

const char *egress_reason_text(uint32_t reason)
{
	return reason < EGRESS_REASON_COUNT ? reasons[reason].text : "The reason is not known.";
}

/* The code point at text and its length in bytes; 0 where there is none. Only the shortest form counts. */
static size_t read_point(const unsigned char *text, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = text[0] < 0x80 ? 1 : (text[0] & 0xe0) == 0xc0 ? 2 : (text[0] & 0xf0) == 0xe0 ? 3 : 4;
	uint32_t point = text[0];

	if (n > 1)
		point &= 0x7fU >> n;
	if (n == 4 && (text[0] & 0xf8) != 0xf0)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret = point;
	return n;
}

/* What no reader sees, or what makes other text be read in another order. */
static bool is_unseen(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0, 0x1f },        { 0x7f, 0xa0 },        { 0xad, 0xad },     { 0x61c, 0x61c },   { 0x115f, 0x1160 },
		{ 0x180e, 0x180e }, { 0x2000, 0x200f },    { 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x3000, 0x3000 },
		{ 0x3164, 0x3164 }, { 0xe000, 0xf8ff },    { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
}

bool egress_why_is_valid(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	bool seen = false;
	uint32_t point;
	size_t n;

	for (; *p && p - (const unsigned char *)text <= LIMIT_DENY_REASON; p += n) {
		n = read_point(p, &point);
		if (n == 0 || is_unseen(point))
			return false;
		seen = seen || point != ' ';
	}
	return seen && *p == '\0' && p - (const unsigned char *)text <= LIMIT_DENY_REASON;
}
