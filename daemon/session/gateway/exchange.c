#include "daemon/session/gateway/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/holding.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/usage.h"

struct exchange {
	struct http_body request;
	struct http_body response;
	struct buffer sent;  /* the request's head and the part of its body that came with it, until the reply begins */
	struct buffer reply; /* the part of the reply's head that has come */
	bool is_head;        /* the method: a reply to HEAD has no body */
	bool websocket;      /* asked for */
	bool may_repeat;     /* safe, no body, and an upstream connection that was used before */
	bool reply_begun;    /* the final head has been passed on */
	bool close_client;   /* after this response */
	bool close_upstream;
};

void exchange_drop(struct exchange *x)
{
	if (!x)
		return;
	buffer_done(&x->sent);
	buffer_done(&x->reply);
}

void exchange_free(struct exchange *x)
{
	exchange_drop(x);
	free(x);
}

size_t exchange_size(const struct exchange *x)
{
	return x ? x->sent.size + x->reply.size : 0;
}

static struct exchange *exchange_get(struct connection *c)
{
	struct exchange *x = c->exchange;

	if (!x) {
		x = c->exchange = calloc(1, sizeof(*x));
		if (!x)
			return NULL;
		x->sent.max = LIMIT_HTTP_HEAD * 2 + RELAY_SCRATCH;
		x->reply.max = LIMIT_HTTP_HEAD + RELAY_SCRATCH;
	}
	x->sent.len = x->reply.len = 0;
	x->may_repeat = x->reply_begun = x->close_upstream = false;
	return x;
}

static bool send_request(struct connection *c)
{
	struct exchange *x = c->exchange;

	audit_count(c);
	relay_init(&c->up, &c->client, &c->upstream, &x->request);
	relay_init(&c->down, &c->upstream, &c->client, &x->response);
	admit_meter(c);
	if (x->sent.len > budget_left(&c->gateway->budget, c->accounts, EGRESS_OUT) ||
	    budget_is_spent(&c->gateway->budget, c->accounts))
		return admit_exceeded(c, EGRESS_OUT, true);
	relay_take(&c->up, x->sent.len);
	c->state = CONNECTION_EXCHANGE;
	connection_is_live(c);
	if (relay_push(&c->up, x->sent.data, x->sent.len) < 0)
		return refuse(c, EGRESS_LIMIT);
	if (!x->may_repeat)
		buffer_done(&x->sent);
	return true;
}

static int build_head(struct connection *c, const struct http_head *head, const struct http_facts *facts,
		      struct http_slice path, const struct http_slice *host, struct buffer *ret)
{
	char authority[TARGET_AUTHORITY_MAX];
	struct buffer given = BUFFER_INIT(LIMIT_HTTP_HEAD + 1);
	struct http_slice root = { "/", 1 };
	int r;

	if (path.len == 0)
		path = http_slice_is(head->method, "OPTIONS") ? (struct http_slice){ "*", 1 } : root;
	if (path.at[0] == '?') {
		/* "http://host?query": the slash is only left out. */
		r = buffer_append(&given, "/", 1);
		if (r == 0)
			r = buffer_append(&given, path.at, path.len);
		path = (struct http_slice){ given.data, given.len };
		if (r < 0) {
			buffer_done(&given);
			return r;
		}
	}
	target_authority(&c->target, 80, authority);
	r = http_facts_request(head, facts, path, host ? *host : (struct http_slice){ authority, strlen(authority) },
			       ret);
	buffer_done(&given);
	return r;
}

/* RFC 9110 9.2.2: a proxy must not send any other request twice on its own. */
static bool is_safe(struct http_slice method)
{
	return http_slice_is(method, "GET") || http_slice_is(method, "HEAD") || http_slice_is(method, "OPTIONS");
}

bool exchange_begin(struct connection *c, const struct http_head *head, const struct http_facts *facts,
		    struct http_slice path, const struct http_slice *host, size_t head_len)
{
	struct exchange *x = exchange_get(c);
	bool repeatable;
	ssize_t n;

	if (!x)
		return refuse(c, EGRESS_LIMIT);
	x->is_head = http_slice_is(head->method, "HEAD");
	x->websocket = facts->websocket;
	x->close_client = facts->close;
	http_body_init(&x->request, facts->body, facts->length);
	if (build_head(c, head, facts, path, host, &x->sent) < 0)
		return refuse(c, EGRESS_LIMIT);
	n = http_body_feed(&x->request, c->in.data + head_len, c->in.len - head_len);
	if (n < 0)
		return refuse(c, EGRESS_BAD_HTTP);
	if (buffer_append(&x->sent, c->in.data + head_len, (size_t)n) < 0)
		return refuse(c, EGRESS_LIMIT);
	repeatable = facts->body == HTTP_BODY_NONE && is_safe(head->method);
	/* From here on head and path are no more. */
	buffer_consume(&c->in, head_len + (size_t)n);
	c->in_looked = 0;
	/* Nothing is read for .in until the reply is over. */
	if (c->in.len == 0)
		buffer_done(&c->in);
	if (!holding_count(c))
		return refuse(c, EGRESS_LIMIT);
	if (c->upstream.fd >= 0 && !c->upstream.peer_shut) {
		x->may_repeat = repeatable;
		return send_request(c);
	}
	connection_close_upstream(c);
	return connection_connect(c, send_request);
}

/* The server closed a kept connection just when it was used again: not its answer, so ask once more. */
static bool no_reply(struct connection *c)
{
	struct exchange *x = c->exchange;

	if (x->may_repeat && x->reply.len == 0 && !relay_is_blocked(&c->down)) {
		x->may_repeat = false;
		relay_done(&c->up);
		relay_done(&c->down);
		connection_close_upstream(c);
		return connection_connect(c, send_request);
	}
	return refuse_with(c, 502, EGRESS_UNREACHABLE, "The host closed the connection without a complete answer.");
}

static bool bad_reply(struct connection *c)
{
	return refuse_with(c, 502, EGRESS_BAD_HTTP, "The host's answer is not well-formed HTTP.");
}

static bool switch_to_tunnel(struct connection *c, const char *rest, size_t rest_len)
{
	if (relay_push(&c->down, rest, rest_len) < 0)
		return refuse(c, EGRESS_LIMIT);
	c->answer = ANSWER_CLOSE;
	exchange_drop(c->exchange);
	return tunnel_begin(c);
}

/* What the reply's head means for its body. 0 or -EBADMSG. */
static int reply_body(struct exchange *x, const struct http_head *head, struct http_facts *f)
{
	if (http_facts_read(head, f) < 0)
		return -EBADMSG;
	if (head->status == 101 && !(x->websocket && f->websocket && x->request.done))
		return -EBADMSG;
	if (head->status != 101)
		f->websocket = false;
	if (head->status < 200 || head->status == 204 || head->status == 304 || x->is_head)
		f->body = HTTP_BODY_NONE;
	return 0;
}

/* Passes on one head of the reply and the bytes behind it. 1: the final one. 0: an interim one. -errno. */
static int pass_on_head(struct connection *c, const struct http_head *head, struct http_facts *f, const char *rest,
			size_t rest_len)
{
	struct exchange *x = c->exchange;
	struct buffer *out = &c->gateway->out;
	bool final = head->status >= 200;
	ssize_t n = 0;
	int r;

	if (final) {
		http_body_init(&x->response, f->body, f->length);
		/* A reply before the request's end leaves the client's next bytes ambiguous. */
		if (f->body == HTTP_BODY_CLOSE || !x->request.done)
			x->close_client = true;
		if (f->close || f->body == HTTP_BODY_CLOSE || !x->request.done)
			x->close_upstream = true;
		n = http_body_feed(&x->response, rest, rest_len);
		if (n < 0)
			return -EBADMSG;
		if ((size_t)n < rest_len)
			x->close_upstream = true;
	}
	out->len = 0;
	r = http_facts_response(head, f, final && x->close_client, out);
	if (r == 0)
		r = buffer_append(out, rest, (size_t)n);
	if (r == 0)
		r = relay_push(&c->down, out->data, out->len);
	return r < 0 ? r : final;
}

/* Takes as many heads from data as there are. 1: the final one was among them. 0: more. -EBADMSG, or -EALREADY where
 * the connection has changed over and *ret_step is to be returned. */
static int take_heads(struct connection *c, const char *data, size_t len, size_t *ret_used, bool *ret_step)
{
	struct http_head head;
	struct http_facts facts;
	int r;

	*ret_used = 0;
	while (len > 0) {
		ssize_t n = http_head_response(data, len, &head);

		if (n == 0)
			return 0;
		if (n < 0 || reply_body(c->exchange, &head, &facts) < 0)
			return -EBADMSG;
		data += n;
		len -= (size_t)n;
		*ret_used += (size_t)n;
		r = pass_on_head(c, &head, &facts, data, len);
		if (r != 0)
			return r;
		if (head.status == 101) {
			*ret_step = switch_to_tunnel(c, data, len);
			return -EALREADY;
		}
	}
	return 0;
}

/* Adds what has come to the part of a head that is there. 1: look at it. 0: it has no end yet, and one that comes byte
 * by byte is not parsed for each. -EBADMSG: too long. */
static int add_to_head(struct connection *c, const char *data, size_t len)
{
	struct exchange *x = c->exchange;

	if (buffer_append(&x->reply, data, len) < 0 || !holding_count(c))
		return -EBADMSG;
	return memchr(data, '\n', len) || x->reply.len >= LIMIT_HTTP_HEAD;
}

/* Reads the reply's head. 1: passed on. 0: wait. -1: *ret_step. */
static int read_reply(struct connection *c, bool *ret_step)
{
	struct exchange *x = c->exchange;
	char *scratch = c->gateway->scratch;
	size_t used;
	int r;

	/* Interim heads come without end where a server likes; the client must take them. */
	while (c->upstream.readable && relay_flush(&c->down)) {
		bool held = x->reply.len > 0;
		size_t room = relay_room(&c->down, RELAY_SCRATCH);
		ssize_t n;

		if (relay_is_spent(&c->down)) {
			*ret_step = admit_exceeded(c, EGRESS_IN, true);
			return -1;
		}
		n = recv(c->upstream.fd, scratch, room, 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			c->upstream.readable = errno == EINTR;
			continue;
		}
		if (n <= 0) {
			*ret_step = no_reply(c);
			return -1;
		}
		if ((size_t)n < room && !c->upstream.peer_shut)
			c->upstream.readable = false;
		relay_take(&c->down, (size_t)n);
		x->may_repeat = false;
		r = held ? add_to_head(c, scratch, (size_t)n) : 1;
		if (r == 0)
			continue;
		if (r > 0)
			r = take_heads(c, held ? x->reply.data : scratch, held ? x->reply.len : (size_t)n, &used,
				       ret_step);
		if (r == -EALREADY)
			return -1;
		if (r < 0) {
			*ret_step = bad_reply(c);
			return -1;
		}
		if (r > 0)
			return 1;
		if (held)
			buffer_consume(&x->reply, used);
		else if (add_to_head(c, scratch + used, (size_t)n - used) < 0)
			return *ret_step = bad_reply(c), -1;
	}
	return 0;
}

/* The request's body. True: go on. False: *ret_step. */
static bool run_request(struct connection *c, bool *ret_again, bool *ret_step)
{
	struct exchange *x = c->exchange;
	const char *excess;
	size_t excess_len;

	if (c->up.finished)
		return true;
	switch (relay_run(&c->up, c->gateway->scratch, &excess, &excess_len)) {
	case RELAY_AGAIN:
		*ret_again = true;
		break;
	case RELAY_BAD:
		if (!x->reply_begun) {
			*ret_step = refuse(c, EGRESS_BAD_HTTP);
			return false;
		}
		audit_end(c, EGRESS_BAD_HTTP);
		*ret_step = connection_close(c);
		return false;
	case RELAY_DONE:
		if (c->up.broken) {
			/* The client gave up in the middle of its request. */
			audit_end(c, EGRESS_ALLOWED);
			*ret_step = connection_close(c);
			return false;
		}
		/* A server that takes no more may still have answered. */
		if (c->up.failed)
			x->close_client = x->close_upstream = true;
		break;
	case RELAY_SPENT:
		*ret_step = admit_exceeded(c, EGRESS_OUT, !x->reply_begun);
		return false;
	case RELAY_WAIT:
		break;
	}
	if (excess_len > 0 && (buffer_append(&c->in, excess, excess_len) < 0 || !holding_count(c))) {
		audit_end(c, EGRESS_LIMIT);
		*ret_step = connection_close(c);
		return false;
	}
	return true;
}

static bool complete(struct connection *c)
{
	static const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct exchange *x = c->exchange;

	audit_count(c);
	if (c->down.failed || (c->down.broken && !x->response.done)) {
		/* Cut, and the client must see that it was: no orderly end, which a reply without a length would take
		 * for its own. */
		if (c->down.broken && x->response.kind == HTTP_BODY_CLOSE)
			setsockopt(c->client.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		audit_end(c, EGRESS_ALLOWED);
		return connection_close(c);
	}
	relay_done(&c->up);
	if (x->close_upstream || !x->request.done)
		connection_close_upstream(c);
	if (x->close_client || !x->request.done) {
		audit_end(c, EGRESS_ALLOWED);
		return connection_linger(c);
	}
	c->state = CONNECTION_REQUEST;
	if (c->in.len == 0)
		connection_may_idle(c);
	else
		connection_must_say(c);
	return true;
}

bool exchange_step(struct connection *c)
{
	struct exchange *x = c->exchange;
	const char *excess;
	size_t excess_len;
	bool again = false, step = false;

	c->active_at = uv_now(c->gateway->loop);
	usage_soon(c->gateway);
	if (c->client.hangup) {
		audit_end(c, EGRESS_ALLOWED);
		return connection_close(c);
	}
	holding_bound_relays(c);
	if (!run_request(c, &again, &step))
		return step;
	if (!x->reply_begun && !audit_is_asking(c)) {
		int r = read_reply(c, &step);

		if (r < 0)
			return step;
		x->reply_begun = r > 0;
		if (x->reply_begun)
			exchange_drop(x);
	}
	if (x->reply_begun) {
		enum relay_result r = relay_run(&c->down, c->gateway->scratch, &excess, &excess_len);

		if (excess_len > 0)
			x->close_upstream = true;
		if (r == RELAY_SPENT)
			return admit_exceeded(c, EGRESS_IN, false);
		if (r == RELAY_DONE || r == RELAY_BAD) {
			c->down.broken |= r == RELAY_BAD;
			return complete(c);
		}
		again |= r == RELAY_AGAIN;
	} else {
		/* Interim heads that wait to be taken. */
		relay_flush(&c->down);
	}
	holding_count(c);
	if (again)
		poller_again(&c->gateway->poller, &c->client);
	/* A client that closes while it waits looks the same as one that has nothing more to say. */
	if (c->client.peer_shut && !c->deadline.set)
		connection_may_idle(c);
	return false;
}
