/* SOCKS at the proxy port: for programs that are told of a proxy by ALL_PROXY. From the reply on the connection is a
 * tunnel like that of a CONNECT. */
#include <errno.h>
#include <string.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/socks_request.h"

bool socks_begin(struct connection *c)
{
	c->answer = ANSWER_SOCKS;
	c->state = CONNECTION_SOCKS;
	if ((uint8_t)c->in.data[0] == SOCKS_VERSION_5) {
		c->socks = SOCKS_GREETING;
		return true;
	}
	c->socks = SOCKS_OLD;
	audit_begin(c, VIA_SOCKS);
	return refuse(c, EGRESS_BAD_SOCKS);
}

bool socks_is_first(const struct connection *c)
{
	uint8_t version = (uint8_t)c->in.data[0];

	/* Nothing was asked for on this connection yet. */
	return !c->bound && c->audit.started == 0 && (version == SOCKS_VERSION_4 || version == SOCKS_VERSION_5);
}

static bool malformed(struct connection *c, unsigned code)
{
	audit_begin(c, VIA_SOCKS);
	return refuse_with(c, code, EGRESS_BAD_SOCKS, NULL);
}

/* Once there is an answer: the request is still in .in. */
static bool again(struct connection *c)
{
	c->audit.count--;
	c->state = CONNECTION_SOCKS;
	return true;
}

static bool judge(struct connection *c, const struct socks_request *q, size_t len)
{
	int r = 0;

	/* The slice lies in .in, which is consumed last. */
	if (q->family != 0)
		target_from_address(q->family, q->address, q->port, &c->target);
	else
		r = target_from_host(q->name, q->name_len, q->port, &c->target);
	audit_begin(c, VIA_SOCKS);
	/* The address of an UDP ASSOCIATE or BIND is none that is gone to. */
	if (q->command != SOCKS_CONNECT) {
		c->target = (struct target){ 0 };
		return refuse_with(c, SOCKS_COMMAND, EGRESS_PROTOCOL, NULL);
	}
	if (r < 0)
		return refuse(c, EGRESS_BAD_NAME);
	if (c->target.port == 0)
		return refuse(c, EGRESS_BAD_SOCKS);
	judge_target(c);
	if (!c->verdict.allowed)
		return ask_or_refuse(c, again);
	buffer_consume(&c->in, len);
	c->in_looked = 0;
	return tunnel_open(c);
}

/* What is complete in .in. 1: the next part may be there as well. 0: more. -1: *ret_step is what the step returns. */
static int take(struct connection *c, bool *ret_step)
{
	const uint8_t *data = (const uint8_t *)c->in.data;
	uint8_t method[SOCKS_METHOD_LEN];
	struct socks_request q;
	bool plain;
	ssize_t n;

	if (c->socks == SOCKS_REQUEST) {
		n = socks_message_request(data, c->in.len, &q);
		if (n == 0)
			return 0;
		*ret_step = n > 0 ? judge(c, &q, (size_t)n)
				  : malformed(c, n == -EAFNOSUPPORT ? SOCKS_ADDRESS : SOCKS_FAILURE);
		return -1;
	}
	n = socks_message_greeting(data, c->in.len, &plain);
	if (n == 0)
		return 0;
	if (n < 0 || !plain) {
		*ret_step = malformed(c, SOCKS_FAILURE);
		return -1;
	}
	buffer_consume(&c->in, (size_t)n);
	c->socks = SOCKS_REQUEST;
	socks_message_method(true, method);
	relay_push(&c->down, method, sizeof(method));
	c->down.bytes = 0;
	return 1;
}

bool socks_step(struct connection *c)
{
	bool step;
	ssize_t n;

	relay_flush(&c->down);
	for (;;) {
		int r = c->in.len > 0 ? take(c, &step) : 0;

		if (r < 0)
			return step;
		if (r > 0)
			continue;
		n = connection_fill(c);
		if (n == 0)
			return false;
		if (n < 0 && c->in.len == 0)
			return connection_close(c);
		if (n < 0)
			return malformed(c, SOCKS_FAILURE);
	}
}

size_t socks_refusal(const struct connection *c, uint8_t ret[SOCKS_REPLY_LEN])
{
	switch ((enum socks_stage)c->socks) {
	case SOCKS_OLD:
		socks_message_reply_4(ret);
		return SOCKS_REPLY_4_LEN;
	case SOCKS_GREETING:
		socks_message_method(false, ret);
		return SOCKS_METHOD_LEN;
	case SOCKS_NONE:
	case SOCKS_REQUEST:
		break;
	}
	socks_message_reply((enum socks_reply)c->refusal.status, ret);
	return SOCKS_REPLY_LEN;
}
