#include "daemon/session/dns/dns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/session/dns/dns_tcp.h"
#include "daemon/session/events.h"
#include "daemon/session/dns/names.h"
#include "daemon/session/tally.h"

/* Seconds; an invented address is good for the session's life, but a cache must not hide later denials for long. */
#define TTL 60
/* Milliseconds in which refusals of one name are told together. */
#define DENIED_WINDOW 10000
/* Datagrams of one socket in one turn of the loop. */
#define TURN_MAX 64

struct udp {
	uv_poll_t poll;
	struct dns *dns;
	int fd;
};

struct dns {
	const struct egress_rules *rules;
	struct names *names;
	struct tally *denied;
	char text[LIMIT_DENY_REASON + 64]; /* of the answer under way */
	struct dns_tcp *tcp;
	struct udp udp[2];
	unsigned handles; /* of this object that are not closed yet */
};

void dns_hold(struct dns *d)
{
	d->handles++;
}

void dns_release(struct dns *d)
{
	if (--d->handles == 0)
		free(d);
}

static void tell(struct dns *d, const struct dns_query *q, uint32_t reason, uint32_t rule)
{
	struct session_connection c = { .via = VIA_DNS,
					.reason = reason,
					.rule = rule,
					.generation = d->rules->generation,
					.protocol = IPPROTO_UDP,
					.port = 53 };

	memcpy(c.name, q->name, strlen(q->name) + 1);
	tally_add(d->denied, &c);
}

static void deny(struct dns *d, const struct dns_query *q, const struct egress_verdict *v, struct dns_answer *ret)
{
	tell(d, q, v->reason, v->rule);
	/* "No such name" would say that there is nothing below it either (RFC 8020), and some resolvers believe it. */
	ret->rcode = q->name[0] && egress_has_below(d->rules, q->name) ? DNS_NOERROR : DNS_NXDOMAIN;
	ret->ede = DNS_EDE_BLOCKED;
	ret->ede_text = egress_reason_name(v->reason);
	if (v->rule >= d->rules->n_rules || !d->rules->rules[v->rule].why)
		return;
	snprintf(d->text, sizeof(d->text), "%s: %s", ret->ede_text, d->rules->rules[v->rule].why);
	ret->ede_text = d->text;
}

static void answer_localhost(const struct dns_query *q, struct dns_answer *ret)
{
	static const uint8_t v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };

	if (q->type != DNS_A && q->type != DNS_AAAA)
		return;
	ret->type = q->type;
	ret->address = q->type == DNS_A ? v4 : v6;
}

static bool is_loopback(int family, const uint8_t address[16])
{
	static const uint8_t v6[16] = { [15] = 1 };

	return family == AF_INET ? address[0] == 127 : memcmp(address, v6, 16) == 0;
}

/* False where the address behind the reverse name is none of the session's own. */
static bool answer_reverse(struct dns *d, const struct dns_query *q, struct dns_answer *ret)
{
	uint8_t address[16];
	int family = dns_reverse_parse(q->name, address);
	const char *name;

	if (family < 0)
		return false;
	name = is_loopback(family, address) ? "localhost" : names_lookup(d->names, family, address);
	if (!name)
		return false;
	if (q->type == DNS_PTR) {
		ret->type = DNS_PTR;
		ret->name = name;
	}
	return true;
}

/* Every other type of an allowed name exists and is empty: no HTTPS record, hence no ECH and no address hints; no MX,
 * TXT or SRV through which another name or data could come. */
static void answer_allowed(struct dns *d, const struct dns_query *q, uint8_t address[16], struct dns_answer *ret)
{
	if (q->type != DNS_A && q->type != DNS_AAAA)
		return;
	if (names_address(d->names, q->name, q->type == DNS_A ? AF_INET : AF_INET6, address) < 0) {
		tell(d, q, EGRESS_LIMIT, EGRESS_NO_RULE);
		ret->rcode = DNS_SERVFAIL;
		ret->ede = DNS_EDE_OTHER;
		ret->ede_text = egress_reason_name(EGRESS_LIMIT);
		return;
	}
	ret->type = q->type;
	ret->address = address;
}

size_t dns_answer(struct dns *d, const uint8_t *query, size_t len, uint8_t ret[DNS_REPLY_MAX])
{
	struct dns_answer answer = DNS_ANSWER_INIT;
	struct egress_verdict v = { .reason = EGRESS_BAD_NAME, .rule = UINT32_MAX };
	struct dns_query q;
	uint8_t address[16];
	int r = dns_query_parse(query, len, &q);

	if (r < 0)
		return 0;
	answer.rcode = (uint16_t)r;
	answer.ttl = TTL;
	if (r == 0 && hostname_is_localhost(q.name)) {
		answer_localhost(&q, &answer);
	} else if (r == 0 && !answer_reverse(d, &q, &answer)) {
		if (q.name[0])
			egress_decide_dns(d->rules, q.name, &v);
		/* The address stands for the name alone: what connects to it is held until there is an answer. */
		if (v.allowed || v.reason == EGRESS_ASKED)
			answer_allowed(d, &q, address, &answer);
		else
			deny(d, &q, &v, &answer);
	}
	return dns_reply_write(&q, &answer, ret);
}

/* Sent from the very address that the query came to: behind the redirect the kernel then finds the connection that it
 * has rewritten, whatever route it would choose itself. */
static void reply(int fd, struct msghdr *received, const uint8_t *data, size_t len)
{
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = {
		.msg_name = received->msg_name, .msg_namelen = received->msg_namelen, .msg_iov = &iov, .msg_iovlen = 1
	};
	struct cmsghdr *c = received->msg_controllen > 0 ? CMSG_FIRSTHDR(received) : NULL;

	if (c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(c);

		info->ipi_spec_dst = info->ipi_addr;
		info->ipi_ifindex = 0;
		msg.msg_control = received->msg_control;
		msg.msg_controllen = received->msg_controllen;
	} else if (c && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		msg.msg_control = received->msg_control;
		msg.msg_controllen = received->msg_controllen;
	}
	/* A client that has gone, or a full buffer: it will ask again. */
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_datagram(uv_poll_t *poll, int status, int events)
{
	struct udp *u = poll->data;

	(void)events;
	if (status < 0) /* an error of the socket: reading clears it, but libuv has stopped watching */
		uv_poll_start(poll, UV_READABLE, on_datagram);
	for (int i = 0; i < TURN_MAX; i++) {
		uint8_t query[DNS_QUERY_MAX], answer[DNS_REPLY_MAX];
		struct sockaddr_storage from;
		union {
			struct cmsghdr header;
			char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		} control;
		struct iovec iov = { .iov_base = query, .iov_len = sizeof(query) };
		struct msghdr msg = { .msg_name = &from,
				      .msg_namelen = sizeof(from),
				      .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = &control,
				      .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(u->fd, &msg, MSG_DONTWAIT);
		size_t len;

		if (n < 0 && (errno == EAGAIN || errno == EBADF))
			return;
		if (n < 0) /* an ICMP error of an earlier reply */
			continue;
		len = msg.msg_flags & MSG_TRUNC ? 0 : dns_answer(u->dns, query, (size_t)n, answer);
		if (len > 0)
			reply(u->fd, &msg, answer, len);
	}
}

static int open_udp(uv_loop_t *loop, struct dns *d, struct udp *u, int fd, bool v6)
{
	int on = 1, r;

	r = v6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))
	       : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
	if (r < 0)
		return -errno;
	r = uv_poll_init(loop, &u->poll, fd);
	if (r < 0)
		return r;
	u->poll.data = u;
	u->dns = d;
	u->fd = fd;
	dns_hold(d);
	return uv_poll_start(&u->poll, UV_READABLE, on_datagram);
}

static void on_udp_closed(uv_handle_t *handle)
{
	struct udp *u = handle->data;

	dns_release(u->dns);
}

void dns_rules_change(struct dns *d)
{
	tally_flush(d->denied);
}

void dns_close(struct dns *d)
{
	if (!d)
		return;
	dns_tcp_close(d->tcp);
	tally_close(d->denied);
	for (int i = 0; i < 2; i++) {
		if (!d->udp[i].dns) /* never opened */
			continue;
		uv_close((uv_handle_t *)&d->udp[i].poll, on_udp_closed);
		d->udp[i].fd = fd_close(d->udp[i].fd);
	}
	dns_release(d);
}

int dns_open(uv_loop_t *loop, const struct egress_rules *rules, struct names *names, struct events *events,
	     const struct dns_listeners *listeners, struct dns **ret)
{
	struct dns *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->rules = rules;
	d->names = names;
	d->handles = 1; /* the caller's */
	r = tally_new(loop, events, DENIED_WINDOW, &d->denied);
	for (int i = 0; r == 0 && i < 2; i++)
		r = open_udp(loop, d, &d->udp[i], listeners->udp[i], i == 1);
	if (r == 0)
		r = dns_tcp_open(loop, d, listeners->tcp, &d->tcp);
	if (r < 0) {
		dns_close(d);
		return r;
	}
	*ret = d;
	return 0;
}
