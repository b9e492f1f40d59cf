#include "daemon/session/network.h"

#include <errno.h>

#include "base/fd.h"

int network_open(struct network *n, uv_loop_t *loop, const struct session_setup *setup, struct names *names,
		 struct events *events, struct link *link, const int fds[LISTENER_COUNT])
{
	const struct gateway_listeners gateway = {
		.proxy_v4 = fds[LISTENER_PROXY_V4],
		.proxy_v6 = fds[LISTENER_PROXY_V6],
		.capture_v4 = fds[LISTENER_CAPTURE_V4],
		.capture_v6 = fds[LISTENER_CAPTURE_V6],
	};
	const struct dns_listeners dns = {
		.udp = { fds[LISTENER_DNS_UDP_V4], fds[LISTENER_DNS_UDP_V6] },
		.tcp = { fds[LISTENER_DNS_TCP_V4], fds[LISTENER_DNS_TCP_V6] },
	};
	int r;

	if (n->gateway || n->dns)
		return -EEXIST;
	r = gateway_open(loop, setup->rules, names, events, link, &gateway, &n->gateway);
	if (r == 0) {
		gateway_introduce(n->gateway, setup->id, "isoctl run");
		if (setup->proxy)
			gateway_use_proxy(n->gateway, setup->proxy, setup->proxy_auth);
		if (setup->tls)
			gateway_use_tls(n->gateway, setup->tls);
		r = dns_open(loop, setup->rules, names, events, &dns, &n->dns);
	}
	if (r == 0)
		r = nflog_open(loop, fds[LISTENER_NFLOG], events, &n->nflog);
	return r;
}

int network_add_port(struct network *n, uv_loop_t *loop, const struct session_setup *setup, struct events *events,
		     struct link *link, int listener, uint32_t way, uint16_t to)
{
	int r = n->ports ? 0 : ports_open(loop, setup->uid, events, link, &n->ports);

	if (r == 0)
		return ports_add(n->ports, listener, way, to);
	fd_close(listener);
	return r;
}

int network_add_unix(struct network *n, uv_loop_t *loop, struct events *events, struct link *link,
		     const struct link_message *m, int fd)
{
	if (m->type == LINK_CONNECTOR && !n->unix_sockets)
		return unix_sockets_open(loop, events, link, fd, &n->unix_sockets);
	if (m->type == LINK_UNIX && n->unix_sockets)
		return unix_sockets_add(n->unix_sockets, fd, m->value, m->text);
	fd_close(fd);
	return -EPROTO;
}

void network_close(struct network *n)
{
	if (n->gateway)
		gateway_close(n->gateway);
	dns_close(n->dns);
	nflog_close(n->nflog);
	ports_close(n->ports);
	unix_sockets_close(n->unix_sockets);
	*n = (struct network){ .gateway = NULL };
}

unsigned network_set_rules(struct network *n, struct egress_rules *live, struct egress_rules *next)
{
	struct egress_rules old = *live;

	if (n->dns)
		dns_rules_change(n->dns);
	egress_rules_keep_spent(&old, next);
	*live = *next;
	egress_rules_done(&old);
	return n->gateway ? gateway_rules_changed(n->gateway) : 0;
}

void network_answered(struct network *n, uint32_t number, uint32_t answer)
{
	if (n->gateway)
		gateway_answered(n->gateway, number, answer);
}
