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
