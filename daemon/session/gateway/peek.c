/* The first bytes of a connection whose target is known: do they name that target, and nothing else? */
#include <errno.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/http_head.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/tls_hello.h"

/* Whatever the owner says. */
static bool is_refused(const struct connection *c)
{
	return !c->verdict.allowed && c->verdict.reason != EGRESS_ASKED;
}

/* Once there is an answer: the hello is still in .in. */
static bool again(struct connection *c)
{
	judge_target(c);
	c->state = CONNECTION_PEEK;
	return true;
}

/* 1: the hello is complete and right. 0: more. -1: refused, *ret_step is what the step returns. */
static int look_at_hello(struct connection *c, bool *ret_step)
{
	struct tls_hello hello;
	ssize_t n = tls_hello_parse((const uint8_t *)c->in.data, c->in.len, &hello);
	uint32_t reason;

	if (n == 0)
		return 0;
	c->answer = ANSWER_TLS;
	if (is_refused(c))
		reason = c->verdict.reason;
	else if (n < 0)
		reason = EGRESS_BAD_TLS;
	else
		reason = judge_hello(c, hello.has_name ? hello.name : NULL, hello.name_len, hello.ech);
	if (reason == EGRESS_ALLOWED && c->verdict.allowed)
		return 1;
	*ret_step = reason == EGRESS_ALLOWED ? ask_or_refuse(c, again) : refuse(c, reason);
	return -1;
}

static bool begins_like_tls(const struct connection *c)
{
	return c->in.len > 0 && (uint8_t)c->in.data[0] == TLS_RECORD_HANDSHAKE;
}

static bool requests_begin(struct connection *c)
{
	c->answer = ANSWER_HTTP;
	c->in_looked = 0;
	c->state = CONNECTION_REQUEST;
	/* The event of the tunnel becomes that of the first request. */
	c->audit.count = 0;
	return true;
}

/* Ports 80 and 443: the client speaks first, and nothing is dialled before it has. */
bool peek_step(struct connection *c)
{
	bool step;
	ssize_t n;

	for (;;) {
		if (begins_like_tls(c)) {
			int r = look_at_hello(c, &step);

			if (r != 0)
				return r < 0 ? step : connection_connect(c, tunnel_begin);
		} else if (c->in.len > 0 && c->target.port == 443) {
			return refuse(c, is_refused(c) ? c->verdict.reason : EGRESS_NOT_TLS);
		} else if (c->in.len > 0) {
			return requests_begin(c);
		}
		n = connection_fill(c);
		if (n == 0)
			return false;
		if (n < 0) {
			if (n == -ENOMEM)
				return refuse(c, EGRESS_LIMIT);
			if (is_refused(c))
				return refuse(c, c->verdict.reason);
			return refuse(c, begins_like_tls(c) ? EGRESS_BAD_TLS : EGRESS_TIMEOUT);
		}
	}
}

/* Other ports, connected already. Whoever speaks first decides: a client that begins like TLS or HTTP is looked at
 * before its bytes go on, all else is relayed as it is. */
bool first_step(struct connection *c)
{
	bool step;
	ssize_t n;

	for (;;) {
		if (begins_like_tls(c)) {
			int r = look_at_hello(c, &step);

			if (r != 0)
				return r < 0 ? step : tunnel_begin(c);
		} else if (c->in.len > 0 && !c->target.is_literal) {
			int r = http_head_sniff(c->in.data, c->in.len);

			if (r != 0)
				return r > 0 ? requests_begin(c) : tunnel_begin(c);
			if (c->in.len >= LIMIT_HTTP_HEAD)
				return refuse(c, EGRESS_BAD_HTTP);
		} else if (c->in.len > 0) {
			return tunnel_begin(c);
		}
		n = connection_fill(c);
		if (n == -ENOMEM)
			return refuse(c, EGRESS_LIMIT);
		if (n < 0 && c->in.len == 0)
			return tunnel_begin(c);
		if (n < 0)
			return refuse(c, begins_like_tls(c) ? EGRESS_BAD_TLS : EGRESS_BAD_HTTP);
		if (n > 0 && c->in.len == (size_t)n)
			connection_must_say(c);
		if (n == 0)
			break;
	}
	/* The server speaks first, and the client has nothing half said. */
	if (c->in.len == 0 && c->upstream.readable)
		return tunnel_begin(c);
	return false;
}
