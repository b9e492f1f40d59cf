#include "daemon/session/gateway/refusal.h"

#include <string.h>
#include <sys/socket.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/tls_hello.h"
#include "policy/address.h"

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
		return 502;
	case EGRESS_LIMIT:
		return 503;
	default:
		return 403;
	}
}

static const char *phrase_of(unsigned status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 408:
		return "Request Timeout";
	case 501:
		return "Not Implemented";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	default:
		return "HTTP Version Not Supported";
	}
}

/* What the caller of isoctl would have to write. */
static int append_remedy(struct buffer *b, const struct connection *c, uint32_t reason)
{
	char authority[TARGET_AUTHORITY_MAX];

	switch (reason) {
	case EGRESS_NOT_LISTED:
	case EGRESS_ADDRESS_LITERAL:
	case EGRESS_PORT:
		/* Rules without a port mean 80 and 443. */
		target_authority(&c->target, c->target.port == 443 ? 443 : 80, authority);
		return buffer_printf(b, "To allow it: isoctl run --allow-domain %s\n", authority);
	case EGRESS_PRIVATE_ADDRESS:
		return buffer_printf(
			b, "To allow it: a rule for the address itself, isoctl run --allow-domain ADDRESS:%u\n",
			c->target.port);
	default:
		return 0;
	}
}

static void refuse_http(struct connection *c, unsigned status, uint32_t reason, const char *hint)
{
	struct buffer *out = &c->gateway->out;
	struct buffer body = BUFFER_INIT(4096);
	char authority[TARGET_AUTHORITY_MAX];

	out->len = 0;
	if (c->target.port) {
		target_authority(&c->target, 0, authority);
		buffer_printf(&body, "isod: %s: refused (%s)\n", authority, egress_reason_name(reason));
	} else {
		buffer_printf(&body, "isod: refused (%s)\n", egress_reason_name(reason));
	}
	buffer_printf(&body, "%s\n", hint ? hint : egress_reason_text(reason));
	append_remedy(&body, c, reason);
	buffer_printf(out,
		      "HTTP/1.1 %u %s\r\nX-Isod-Reason: %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
		      "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		      status, phrase_of(status), egress_reason_name(reason), body.len);
	buffer_append(out, body.data, body.len);
	buffer_done(&body);
	relay_push(&c->down, out->data, out->len);
}

static void refuse_tls(struct connection *c, uint32_t reason)
{
	uint8_t alert[TLS_ALERT_LEN];

	tls_hello_alert(status_of(reason) >= 500 ? TLS_ALERT_INTERNAL_ERROR : TLS_ALERT_ACCESS_DENIED, alert);
	relay_push(&c->down, alert, sizeof(alert));
}

bool refuse_with(struct connection *c, unsigned status, uint32_t reason, const char *hint)
{
	static const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	audit_end(c, reason);
	/* A reply of the server that has begun cannot be taken back; it is cut, visibly. */
	if (relay_is_blocked(&c->down))
		return connection_close(c);
	relay_done(&c->down);
	relay_init(&c->down, &c->upstream, &c->client, NULL);
	switch ((enum connection_answer)c->answer) {
	case ANSWER_HTTP:
		refuse_http(c, status, reason, hint);
		return connection_linger(c);
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
	return refuse_with(c, status_of(reason), reason, NULL);
}
