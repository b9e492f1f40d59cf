#include "daemon/session/gateway/proxy_call.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/proxy_reply.h"
#include "daemon/session/gateway/refusal.h"

bool proxy_call_takes(const struct connection *c)
{
	const struct target *t = &c->target;
	struct egress_target e = { .name = t->is_literal ? NULL : t->name, .family = t->family, .port = t->port };

	memcpy(e.address, t->address, sizeof(e.address));
	return egress_proxy_takes(c->gateway->proxy, c->gateway->rules, &e);
}

/* What the proxy is asked for: the name that was decided on, which it resolves; of a name that is pinned here the first
 * address that may be dialled, since the proxy knows nothing of pins. EGRESS_ALLOWED, or why there is none. */
static uint32_t choose_authority(const struct connection *c, char ret[TARGET_AUTHORITY_MAX])
{
	const struct egress_rules *rules = c->gateway->rules;
	const struct egress_pin *pin = c->target.is_literal ? NULL : egress_pin_find(rules, c->target.name);
	struct egress_verdict v = { .reason = EGRESS_UNRESOLVED };
	struct target pinned;

	if (!pin) {
		target_authority(&c->target, 0, ret);
		return EGRESS_ALLOWED;
	}
	for (uint32_t i = 0; i < pin->n_addresses; i++) {
		uint8_t family = pin->addresses[i].family;

		resolve_judge(&c->gateway->resolver, &c->target, family, pin->addresses[i].address, &v);
		if (!v.allowed)
			continue;
		target_from_address(family, pin->addresses[i].address, c->target.port, &pinned);
		target_authority(&pinned, 0, ret);
		return EGRESS_ALLOWED;
	}
	return v.reason;
}

static int build_request(const struct connection *c, const char *authority, struct buffer *ret)
{
	const char *auth = c->gateway->proxy_auth;
	int r;

	ret->len = 0;
	r = buffer_printf(ret, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", authority, authority);
	if (r == 0 && auth)
		r = buffer_printf(ret, "Proxy-Authorization: %s\r\n", auth);
	return r < 0 ? r : buffer_append_string(ret, "\r\n");
}

static void on_silence(struct deadline *d)
{
	struct connection *c = (struct connection *)((char *)d - offsetof(struct connection, deadline));

	if (refuse(c, EGRESS_PROXY_UNREACHABLE))
		connection_step(c);
}

bool proxy_call_begin(struct connection *c)
{
	struct gateway *g = c->gateway;
	char authority[TARGET_AUTHORITY_MAX];
	uint32_t reason = choose_authority(c, authority);

	if (reason != EGRESS_ALLOWED)
		return refuse(c, reason);
	if (connection_secure(c) < 0)
		return refuse(c, EGRESS_LIMIT);
	c->state = CONNECTION_PROXY;
	c->audit.by_proxy = true;
	deadline_set(&g->deadlines, &c->deadline, DEADLINE_DIAL, on_silence);
	relay_done(&c->up);
	relay_init(&c->up, &c->client, &c->upstream, NULL);
	if (build_request(c, authority, &g->out) < 0 || relay_push(&c->up, g->out.data, g->out.len) < 0)
		return refuse(c, EGRESS_LIMIT);
	return true;
}

/* The proxy is gone without an answer: where that is for TLS, the client hears what was wrong. */
static bool unreachable(struct connection *c)
{
	if (c->tls)
		c->refusal.proxy_fault = c->gateway->tls->service->fault(c->tls);
	return refuse(c, EGRESS_PROXY_UNREACHABLE);
}

/* The head is taken from the socket, and nothing behind it. */
static bool answered(struct connection *c, size_t len, size_t seen, uint16_t status)
{
	uint32_t reason = proxy_reply_reason(status);

	if (relay_is_blocked(&c->up) || recv(c->upstream.fd, c->gateway->scratch, len, 0) != (ssize_t)len)
		return refuse(c, EGRESS_PROXY_UNREACHABLE);
	if (reason != EGRESS_ALLOWED) {
		c->refusal.proxy_status = status;
		return refuse(c, reason);
	}
	/* Whether the host has spoken matters to first_step(). */
	if (len == seen && !c->upstream.peer_shut)
		c->upstream.readable = false;
	c->up.bytes = 0;
	deadline_clear(&c->gateway->deadlines, &c->deadline);
	return c->connected(c);
}

/* The reply is only looked at until it is complete: what comes behind it is left to who reads the socket next. */
bool proxy_step(struct connection *c)
{
	if (c->client.hangup) {
		audit_end(c, EGRESS_ALLOWED);
		return connection_close(c);
	}
	relay_flush(&c->up);
	while (c->upstream.readable) {
		uint16_t status;
		ssize_t n = recv(c->upstream.fd, c->gateway->scratch, PROXY_REPLY_MAX, MSG_PEEK), used;

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			c->upstream.readable = errno == EINTR;
			continue;
		}
		used = n > 0 ? proxy_reply_parse(c->gateway->scratch, (size_t)n, &status) : -ENODATA;
		if (used > 0)
			return answered(c, (size_t)used, (size_t)n, status);
		/* SOCKS has codes of its own, and no sentences. */
		if (used < 0 && used != -ENODATA && c->answer != ANSWER_SOCKS)
			return refuse_with(c, 502, EGRESS_PROXY_UNREACHABLE,
					   "What the upstream proxy answers is no well-formed HTTP.");
		if (used < 0 || c->upstream.peer_shut)
			return unreachable(c);
		c->upstream.readable = false;
	}
	return c->up.failed || c->upstream.hangup ? unreachable(c) : false;
}
