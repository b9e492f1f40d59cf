#include "daemon/session/gateway/capture.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/dns/names.h"

/* linux/netfilter_ipv4.h and its IPv6 twin, which cannot be included beside netinet/in.h. */
enum { ORIGINAL_DST = 80 };

int capture_original_target(int fd, int family, uint8_t ret_address[16], uint16_t *ret_port)
{
	struct sockaddr_storage s = { 0 };
	socklen_t len = sizeof(s);

	if (getsockopt(fd, family == AF_INET ? SOL_IP : SOL_IPV6, ORIGINAL_DST, &s, &len) < 0)
		return -errno;
	if (s.ss_family != family)
		return -EAFNOSUPPORT;
	memset(ret_address, 0, 16);
	if (family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&s;

		memcpy(ret_address, &in->sin_addr, 4);
		*ret_port = ntohs(in->sin_port);
		return 0;
	}
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&s;

	memcpy(ret_address, &in6->sin6_addr, 16);
	*ret_port = ntohs(in6->sin6_port);
	return 0;
}

void capture_judge(struct connection *c, int family, const struct address_port *to, void (*judge)(struct connection *c))
{
	const char *name;

	/* Not redirected: somebody connected to the capture port itself. */
	if (!to) {
		c->verdict.reason = EGRESS_PROTOCOL;
		return;
	}
	name = names_lookup(c->gateway->names, family, to->address);
	if (name && target_from_name(name, to->port, &c->target) == 0) {
		judge(c);
		return;
	}
	target_from_address(family, to->address, to->port, &c->target);
	if (names_is_invented(family, to->address))
		c->verdict.reason = EGRESS_UNKNOWN_ADDRESS;
	else
		judge(c);
}

static bool connected(struct connection *c)
{
	c->state = CONNECTION_FIRST;
	connection_may_idle(c);
	return true;
}

/* Once there is an answer. */
static bool again(struct connection *c)
{
	judge_target(c);
	return c->verdict.allowed ? connection_connect(c, connected) : ask_or_refuse(c, again);
}

void capture_start(struct connection *c, int family, const struct address_port *to)
{
	c->captured = c->bound = true;
	c->answer = ANSWER_RESET;
	c->state = CONNECTION_PEEK;
	capture_judge(c, family, to, judge_target);
	audit_begin(c, VIA_CAPTURE);
	if (c->target.port == 80 || c->target.port == 443) {
		connection_start(c, CONNECTION_PEEK);
		return;
	}
	if (!c->verdict.allowed ? ask_or_refuse(c, again) : connection_connect(c, connected))
		connection_step(c);
}
