/* The one vocabulary of refusals. */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/egress.h"

struct reason {
	const char *name;
	const char *text;
	const char *hint; /* "": nothing to do; "+": a rule for the target would allow it */
	bool passes;      /* trying again later can help */
};

static const struct reason reasons[] = {
	[EGRESS_ALLOWED] = { "allowed", "A rule of the policy allows it.", "" },
	[EGRESS_LEARNED] = { "learned", "No rule names it: it was let through to be learned.", "" },
	[EGRESS_NOT_LISTED] = { "not-listed", "No rule of the policy names this host.", "+" },
	[EGRESS_DENIED] = { "denied", "A deny rule of the policy names this host.",
			    "No rule can allow what a deny rule names: only its owner can take it out of its policy." },
	[EGRESS_PORT] = { "port", "The policy allows this host, but not this port.", "+" },
	[EGRESS_PRIVATE_ADDRESS] = { "private-address", "The host has a private or special address that no rule names.",
				     "+" },
	[EGRESS_ADDRESS_LITERAL] = { "address-literal", "An address was used instead of a name, and no rule names it.",
				     "+" },
	[EGRESS_BAD_NAME] = { "bad-name", "This is not a valid host name.",
			      "Write the host's name or its address in their usual form." },
	[EGRESS_SNI_MISMATCH] = { "sni-mismatch", "The TLS server name is not the host that was asked for.",
				  "Connect to the very host that the TLS client names." },
	[EGRESS_SNI_MISSING] = { "sni-missing", "The TLS ClientHello names no server.",
				 "Use a client that sends the server name (SNI); for one that cannot: "
				 "sandbox.network.tls.noSni of your policy." },
	[EGRESS_HOST_MISMATCH] = { "host-mismatch", "The Host header names another host.",
				   "Send the Host header of the host that is connected to." },
	[EGRESS_NOT_TLS] = { "not-tls", "Port 443 was used without TLS.", "Use https:// there." },
	[EGRESS_BAD_TLS] = { "bad-tls", "The TLS ClientHello is malformed.", "" },
	[EGRESS_BAD_HTTP] = { "bad-http", "The HTTP request is malformed.", "" },
	[EGRESS_UNRESOLVED] = { "unresolved", "The host name has no address.", "Check the name's spelling.", true },
	[EGRESS_UNREACHABLE] = { "unreachable", "The host did not answer.",
				 "The policy allows it: the host or the "
				 "network is down.",
				 true },
	[EGRESS_UNKNOWN_ADDRESS] = { "unknown-address", "This address stands for no name of this session.",
				     "Ask for the name again: its address is another one in each session." },
	[EGRESS_LIMIT] = { "limit", "A limit of the session is reached.", "Close connections first.", true },
	[EGRESS_PROTOCOL] = { "protocol", "Only TCP and DNS leave the sandbox.",
			      "Use TCP; for QUIC (HTTP/3) that is HTTP/2." },
	[EGRESS_OTHER_USER] = { "other-user", "Another user of the machine connected to a published port.",
				"Its ports are for the session's own user and root." },
	[EGRESS_QUERY_TYPE] = { "query-type", "This type of DNS query is not answered.", "Ask for A or AAAA." },
	[EGRESS_TLS_TO_PROXY] = { "tls-to-proxy", "The proxy is reached by plain HTTP, and TLS was sent to it.",
				  "Write the proxy as http://, also for HTTPS_PROXY." },
	[EGRESS_ECH] = { "ech", "The TLS server name is encrypted, so it cannot be checked.",
			 "Switch Encrypted Client Hello off." },
	[EGRESS_TIMEOUT] = { "timeout", "The client did not say in time what it wants.", "", true },
	[EGRESS_BAD_SOCKS] = { "bad-socks",
			       "The SOCKS request is malformed, or not of SOCKS version 5 without a password.",
			       "Write the proxy as socks5h:// without a user, or as http://." },
	[EGRESS_BUDGET] = { "budget", "The bytes that the policy lets this session exchange there are used up.",
			    "More needs a larger sandbox.network.budget and isoctl policy reload." },
	[EGRESS_RATE] = { "rate", "There were more new connections in a second than the policy allows.",
			  "Use connections again, or open fewer at a time.", true },
	[EGRESS_PROXY_UNREACHABLE] = { "proxy-unreachable", "The upstream proxy does not answer.",
				       "The policy allows the host: the proxy that leads out is down, or its "
				       "upstreamProxy is wrong.",
				       true },
	[EGRESS_PROXY_AUTH] = { "proxy-auth", "The upstream proxy does not take the user and password that isod has.",
				"The administrator has to mend authFile of upstreamProxy." },
	[EGRESS_PROXY_REFUSED] = { "proxy-refused", "The upstream proxy refuses this host.",
				   "The policy allows it: who runs that proxy has to allow it there, too." },
	[EGRESS_ASKED] = { "asked", "No rule of the policy names this host: the session's owner is asked.", "+" },
	[EGRESS_UNANSWERED] = { "unanswered",
				"No rule of the policy names this host, and nobody has answered in time whether it "
				"may be reached.",
				"Who runs the session sees what it asks for with isoctl pending.", true },
	[EGRESS_OWNER_REFUSED] = { "owner-refused",
				   "No rule of the policy names this host, and the session's owner was asked and said "
				   "no.",
				   "It is not asked again in this session: only its owner can let it through, by "
				   "isoctl "
				   "grant." },
};
_Static_assert(ARRAY_SIZE(reasons) == EGRESS_REASON_COUNT, "one entry a reason");

const char *egress_reason_name(uint32_t reason)
{
	return reason < EGRESS_REASON_COUNT ? reasons[reason].name : "unknown";
}

uint32_t egress_reason_from_name(const char *name)
{
	uint32_t i = 0;

	while (i < EGRESS_REASON_COUNT && strcmp(reasons[i].name, name) != 0)
		i++;
	return i;
}

const char *egress_reason_text(uint32_t reason)
{
	return reason < EGRESS_REASON_COUNT ? reasons[reason].text : "The reason is not known.";
}

bool egress_reason_passes(uint32_t reason)
{
	return reason < EGRESS_REASON_COUNT && reasons[reason].passes;
}

void egress_reason_hint(uint32_t reason, const char *command, const char *host, uint16_t port,
			char ret[EGRESS_HINT_MAX])
{
	const char *hint = reason < EGRESS_REASON_COUNT ? reasons[reason].hint : "";
	struct in6_addr v6;
	bool is_v6 = inet_pton(AF_INET6, host, &v6) == 1, is_address = is_v6 || inet_pton(AF_INET, host, &v6) == 1;
	bool web = port == 80 || port == 443;
	char suffix[8] = "";

	if (strcmp(hint, "+") != 0) {
		snprintf(ret, EGRESS_HINT_MAX, "%s", hint);
		return;
	}
	ret[0] = '\0';
	if (host[0] == '\0' || port == 0)
		return;
	/* Rules without a port mean 80 and 443. */
	if (!web)
		snprintf(suffix, sizeof(suffix), ":%u", port);
	if (reason == EGRESS_PRIVATE_ADDRESS && !is_address)
		snprintf(ret, EGRESS_HINT_MAX,
			 "To allow it: a rule for the address itself, %s --allow-domain ADDRESS%s", command, suffix);
	else
		/* Quoted for a shell, to which brackets are a pattern. */
		snprintf(ret, EGRESS_HINT_MAX, "To allow it: %s --allow-domain %s%s%s%s%s", command, is_v6 ? "'[" : "",
			 host, is_v6 ? "]" : "", suffix, is_v6 ? "'" : "");
}

void egress_rule_format(const struct egress_rule *rule, char ret[EGRESS_RULE_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN] = "", port[8] = "";
	bool whole = rule->bits == (rule->family == AF_INET ? 32 : 128);
	bool brackets = rule->family == AF_INET6 && whole;

	if (rule->port)
		snprintf(port, sizeof(port), ":%u", rule->port);
	if (rule->kind == EGRESS_RULE_HOST || rule->kind == EGRESS_RULE_SUFFIX) {
		snprintf(ret, EGRESS_RULE_TEXT_MAX, "%s%s%s", rule->kind == EGRESS_RULE_SUFFIX ? "*." : "", rule->name,
			 port);
		return;
	}
	inet_ntop(rule->family, rule->address, address, sizeof(address));
	if (whole)
		snprintf(ret, EGRESS_RULE_TEXT_MAX, "%s%s%s%s", brackets ? "[" : "", address, brackets ? "]" : "",
			 port);
	else
		snprintf(ret, EGRESS_RULE_TEXT_MAX, "%s/%u%s", address, rule->bits, port);
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
