#include "daemon/control/audit/audit_line.h"

#include <netinet/in.h>
#include <string.h>

#include "policy/address.h"

static const char *const via_names[VIA_COUNT] = {
	[VIA_CONNECT] = "connect", [VIA_HTTP] = "http",           [VIA_CAPTURE] = "capture",
	[VIA_DNS] = "dns",         [VIA_PACKET] = "packet",       [VIA_SOCKS] = "socks",
	[VIA_PUBLISH] = "publish", [VIA_HOST_PORT] = "host-port", [VIA_UNIX_SOCKET] = "unix-socket",
};

static const char *protocol_name(uint32_t protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return "icmp";
	default:
		return NULL;
	}
}

/* The rule as it stands in its policy, and where. */
static void write_rule(struct json_writer *w, const struct policy *p, uint32_t rule)
{
	const struct policy_text *text;

	if (rule < p->allowed_domains.count)
		text = &p->allowed_domains.items[rule];
	else if (rule - p->allowed_domains.count < p->denied_domains.count)
		text = &p->denied_domains.items[rule - p->allowed_domains.count];
	else
		return;
	json_write_member_string(w, "rule", text->text);
	if (text->why)
		json_write_member_string(w, "why", text->why);
	json_write_member_string(w, "from", policy_layer_name(text->origin.layer));
	if (text->origin.path && text->origin.path[0] != '\0') {
		json_write_key(w, "file");
		json_write_bytes(w, text->origin.path, strlen(text->origin.path));
		json_write_member_integer(w, "line", text->origin.line);
	}
}

static void write_target(struct json_writer *w, const struct session_connection *m)
{
	char address[64];

	if (m->name[0] != '\0') {
		json_write_key(w, "name");
		json_write_bytes(w, m->name, strlen(m->name));
	}
	if (m->via != VIA_UNIX_SOCKET)
		json_write_member_integer(w, "port", m->port);
	if (m->family != 0)
		json_write_member_string(w, "address", address_format(m->family, m->address, address));
	if (m->by_proxy)
		json_write_member_bool(w, "proxy", true);
	if (m->type == SESSION_PACKET && protocol_name(m->protocol))
		json_write_member_string(w, "protocol", protocol_name(m->protocol));
	else if (m->type == SESSION_PACKET)
		json_write_member_integer(w, "protocol", m->protocol);
}

const char *audit_line_event(uint32_t type)
{
	return type == SESSION_CONNECTION ? "connection" : type == SESSION_DNS_DENIED ? "dns.denied" : "packet.refused";
}

void audit_line_write_connection(struct json_writer *w, const struct session_connection *m, const struct policy *policy)
{
	json_write_member_string(w, "verdict", m->allowed ? "allow" : "deny");
	json_write_member_string(w, "via", via_names[m->via]);
	write_target(w, m);
	if (m->program[0] != '\0') {
		json_write_key(w, "program");
		json_write_bytes(w, m->program, strlen(m->program));
		json_write_member_integer(w, "pid", m->pid);
	}
	if (m->via == VIA_PUBLISH && m->peer_uid != UINT32_MAX)
		json_write_member_integer(w, "peerUid", m->peer_uid);
	json_write_member_string(w, "reason", egress_reason_name(m->reason));
	if (m->rule != UINT32_MAX)
		write_rule(w, policy, m->rule);
	if (m->type == SESSION_CONNECTION) {
		json_write_member_integer(w, "bytesUp", (int64_t)(m->bytes_up & INT64_MAX));
		json_write_member_integer(w, "bytesDown", (int64_t)(m->bytes_down & INT64_MAX));
		json_write_member_integer(w, "durationMs", (int64_t)(m->duration_us / 1000));
	}
	if (m->count > 1)
		json_write_member_integer(w, "count", (int64_t)(m->count & INT64_MAX));
}

void audit_line_write_budget(struct json_writer *w, uint32_t account, uint32_t direction, uint64_t limit,
			     const struct policy *policy)
{
	if (account > 0 && account <= policy->n_budgets)
		json_write_member_string(w, "host", policy->budgets[account - 1].host);
	json_write_member_string(w, "direction", direction == EGRESS_OUT ? "out" : "in");
	json_write_member_integer(w, "limit", (int64_t)(limit & INT64_MAX));
}
