#include "daemon/session/gateway/refusal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/holding.h"
#include "daemon/session/gateway/refusal_text.h"
#include "daemon/session/gateway/socks_request.h"
#include "daemon/session/gateway/tls_hello.h"

/* Each is a sentence or two of our own. */
enum { MESSAGE_MAX = 256 };

static unsigned status_of(uint32_t reason)
{
	switch (reason) {
	case EGRESS_BAD_HTTP:
	case EGRESS_BAD_NAME:
	case EGRESS_TLS_TO_PROXY:
		return 400;
	case EGRESS_TIMEOUT:
		return 408;
	case EGRESS_UNRESOLVED:
	case EGRESS_UNREACHABLE:
	case EGRESS_PROXY_UNREACHABLE:
	case EGRESS_PROXY_AUTH:
	case EGRESS_PROXY_REFUSED:
		return 502;
	case EGRESS_RATE:
		return 429;
	case EGRESS_LIMIT:
		return 503;
	default:
		return 403;
	}
}

/* What is wrong in a sentence, and what the upstream proxy has said to it. */
static void describe(const struct connection *c, char *ret, size_t size)
{
	const struct refusal *r = &c->refusal;

	if (r->proxy_status)
		snprintf(ret, size, "%s The upstream proxy answered %u.", egress_reason_text(r->reason),
			 r->proxy_status);
	else if (r->proxy_fault.what)
		snprintf(ret, size, "%s %s: %s.", egress_reason_text(r->reason), r->proxy_fault.what,
			 r->proxy_fault.why);
	else
		snprintf(ret, size, "%s", r->message ? r->message : egress_reason_text(r->reason));
}

static void refuse_http(struct connection *c)
{
	const struct egress_rules *rules = c->gateway->rules;
	struct buffer *out = &c->gateway->out;
	char authority[TARGET_AUTHORITY_MAX] = "", message[MESSAGE_MAX];
	const struct refusal_text t = {
		.status = c->refusal.status,
		.reason = c->refusal.reason,
		.message = message,
		.authority = authority,
		.host = c->target.name,
		.port = c->target.port,
		.rule = c->verdict.rule < rules->n_rules ? &rules->rules[c->verdict.rule] : NULL,
		.program = c->audit.program ? c->audit.program : "",
		.pid = c->audit.pid,
		.session = c->gateway->session,
		.command = c->gateway->command,
		.retry_after = c->refusal.retry_after,
		.json = c->wants_json,
	};

	out->len = 0;
	describe(c, message, sizeof(message));
	if (c->target.port)
		target_authority(&c->target, 0, authority);
	if (refusal_text_append(&t, out) == 0)
		relay_push(&c->down, out->data, out->len);
}

static void refuse_tls(struct connection *c, uint32_t reason)
{
	uint8_t alert[TLS_ALERT_LEN];

	tls_hello_alert(status_of(reason) >= 500 || reason == EGRESS_RATE ? TLS_ALERT_INTERNAL_ERROR
									  : TLS_ALERT_ACCESS_DENIED,
			alert);
	relay_push(&c->down, alert, sizeof(alert));
}

static void refuse_socks(struct connection *c)
{
	uint8_t reply[SOCKS_REPLY_LEN];

	relay_push(&c->down, reply, socks_refusal(c, reply));
}

/* The answer names the program, and one that is answered may end before anybody has looked who it is. */
bool refused_step(struct connection *c)
{
	if (audit_is_asking(c) && !c->refusal.has_waited)
		return false;
	if (c->answer == ANSWER_SOCKS)
		refuse_socks(c);
	else
		refuse_http(c);
	return connection_linger(c);
}

static void on_waited(struct deadline *d)
{
	struct connection *c = (struct connection *)((char *)d - offsetof(struct connection, deadline));

	c->refusal.has_waited = true;
	connection_step(c);
}

bool refuse_with(struct connection *c, unsigned status, uint32_t reason, const char *message)
{
	static const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	audit_end(c, reason);
	/* A reply of the server that has begun cannot be taken back; it is cut, visibly. */
	if (relay_is_blocked(&c->down))
		return connection_close(c);
	relay_done(&c->down);
	relay_init(&c->down, &c->upstream, &c->client, NULL);
	/* It may take seconds until the client has read the answer. */
	buffer_done(&c->in);
	exchange_drop(c->exchange);
	holding_count(c);
	switch ((enum connection_answer)c->answer) {
	case ANSWER_HTTP:
	case ANSWER_SOCKS:
		c->refusal.status = status;
		c->refusal.reason = reason;
		c->refusal.message = message;
		connection_close_upstream(c);
		deadline_set(&c->gateway->deadlines, &c->deadline, DEADLINE_AUDIT, on_waited);
		c->state = CONNECTION_REFUSED;
		return true;
	case ANSWER_TLS:
		refuse_tls(c, reason);
		return connection_linger(c);
	case ANSWER_RESET:
		setsockopt(c->client.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		break;
	case ANSWER_CLOSE:
		break;
	}
	return connection_close(c);
}

bool refuse(struct connection *c, uint32_t reason)
{
	unsigned status = c->answer == ANSWER_SOCKS ? socks_message_code(reason, c->dial ? dial_error(c->dial) : 0)
						    : status_of(reason);

	return refuse_with(c, status, reason, NULL);
}
