/* HTTP requests of the client: to the proxy port, or inside a connection whose target is fixed. Each one is judged. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/exchange.h"
#include "daemon/session/gateway/http_accept.h"
#include "daemon/session/gateway/http_facts.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/refusal.h"
#include "daemon/session/gateway/socks_request.h"
#include "daemon/session/gateway/tls_hello.h"

struct request {
	struct http_head head;
	struct http_facts facts;
	struct http_slice path;
	size_t len; /* of the head in c->in */
};

static bool bad(struct connection *c)
{
	return refuse(c, EGRESS_BAD_HTTP);
}

static uint32_t via_of(const struct connection *c)
{
	if (c->captured)
		return VIA_CAPTURE;
	if (c->socks)
		return VIA_SOCKS;
	return c->bound ? VIA_CONNECT : VIA_HTTP;
}

/* Splits "http://authority/path". 0, -EPROTONOSUPPORT for https, -EBADMSG. */
static int split_absolute(struct http_slice url, struct http_slice *ret_authority, struct http_slice *ret_path)
{
	static const char scheme[] = "http://";
	size_t skip = sizeof(scheme) - 1, i;

	if (url.len >= 8 && strncasecmp(url.at, "https://", 8) == 0)
		return -EPROTONOSUPPORT;
	if (url.len <= skip || strncasecmp(url.at, scheme, skip) != 0)
		return -EBADMSG;
	for (i = skip; i < url.len && url.at[i] != '/' && url.at[i] != '?'; i++)
		if (url.at[i] == '#')
			return -EBADMSG;
	*ret_authority = (struct http_slice){ url.at + skip, i - skip };
	*ret_path = (struct http_slice){ url.at + i, url.len - i };
	return 0;
}

/* Does the Host header name t? Without one only HTTP/1.0 passes, and our own Host header is sent on. */
static bool host_matches(const struct request *q, const struct target *t)
{
	struct target named;

	if (!q->facts.has_host)
		return q->head.minor == 0;
	return target_parse(q->facts.host.at, q->facts.host.len, 80, &named) == 0 && target_equal(&named, t);
}

/* "https://[v6]:8443" is no request for us, but agents do send https:// here when only ALL_PROXY is set. */
static const char use_connect[] = "Requests for https:// go through CONNECT: set HTTPS_PROXY to the same address.";
static const char use_absolute[] = "This is a proxy. It serves CONNECT host:port and absolute requests such as "
				   "GET http://host/path.";

/* Once there is an answer: the head is still in .in, and is judged as if it had come now. */
static bool again(struct connection *c)
{
	if (c->bound)
		judge_target(c);
	c->audit.count--;
	c->in_looked = 0;
	c->state = CONNECTION_REQUEST;
	return true;
}

static bool connect_request(struct connection *c, const struct request *q)
{
	int r;

	audit_end(c, EGRESS_ALLOWED);
	r = target_parse(q->head.target.at, q->head.target.len, 0, &c->target);
	if (r < 0) {
		c->target = (struct target){ 0 };
		audit_begin(c, VIA_CONNECT);
		return refuse_with(c, 400, r == -EDOM ? EGRESS_BAD_NAME : EGRESS_BAD_HTTP,
				   r == -EDOM ? NULL : "CONNECT needs host:port, and brackets around an IPv6 address.");
	}
	audit_begin(c, VIA_CONNECT);
	judge_target(c);
	if (!c->verdict.allowed)
		return ask_or_refuse(c, again);
	buffer_consume(&c->in, q->len);
	c->in_looked = 0;
	return tunnel_open(c);
}

/* A request on a connection whose target is fixed: it must not name another one. */
static bool bound_request(struct connection *c, struct request *q)
{
	struct http_slice authority, path;
	struct target named;
	bool names_it = true;

	audit_begin(c, via_of(c));
	if (!c->verdict.allowed)
		return ask_or_refuse(c, again);
	if (http_slice_is(q->head.method, "CONNECT"))
		return bad(c);
	if (q->head.target.at[0] == '/' || http_slice_is(q->head.target, "*")) {
		q->path = q->head.target;
	} else if (split_absolute(q->head.target, &authority, &path) == 0) {
		q->path = path;
		names_it = target_parse(authority.at, authority.len, 80, &named) == 0 &&
			   (c->target.is_literal || target_equal(&named, &c->target));
	} else {
		return bad(c);
	}
	if (!q->facts.has_host && q->head.minor > 0)
		return bad(c);
	/* A rule for an address says nothing about names: any may be asked for there, as with SNI. */
	if (!names_it || (!c->target.is_literal && !host_matches(q, &c->target)))
		return refuse(c, EGRESS_HOST_MISMATCH);
	return exchange_begin(c, &q->head, &q->facts, q->path, c->target.is_literal ? &q->facts.host : NULL, q->len);
}

static bool absolute_request(struct connection *c, struct request *q)
{
	struct http_slice authority;
	struct target t;
	int r = split_absolute(q->head.target, &authority, &q->path);

	if (r == 0)
		r = target_parse(authority.at, authority.len, 80, &t);
	if (r < 0) {
		audit_end(c, EGRESS_ALLOWED);
		c->target = (struct target){ 0 };
		audit_begin(c, VIA_HTTP);
		if (r == -EPROTONOSUPPORT)
			return refuse_with(c, 501, EGRESS_BAD_HTTP, use_connect);
		if (r == -EDOM)
			return refuse(c, EGRESS_BAD_NAME);
		return refuse_with(c, 400, EGRESS_BAD_HTTP, use_absolute);
	}
	if (!target_equal(&t, &c->target)) {
		audit_end(c, EGRESS_ALLOWED);
		connection_close_upstream(c);
		c->target = t;
	}
	audit_begin(c, VIA_HTTP);
	judge_target(c);
	if (!c->verdict.allowed)
		return ask_or_refuse(c, again);
	/* There it is TLS, whatever way in is taken. */
	if (c->target.port == 443)
		return refuse(c, EGRESS_NOT_TLS);
	if (!q->facts.has_host && q->head.minor > 0)
		return bad(c);
	if (!host_matches(q, &c->target))
		return refuse(c, EGRESS_HOST_MISMATCH);
	return exchange_begin(c, &q->head, &q->facts, q->path, NULL, q->len);
}

/* For the audit and the answer only: where a request whose head is malformed wanted to go, if its first line tells. */
static uint32_t read_target(const struct connection *c, struct target *ret)
{
	struct http_slice authority, path;
	struct http_head head;
	bool connect;

	*ret = (struct target){ 0 };
	if (http_head_request_line(c->in.data, c->in.len, &head) <= 0)
		return VIA_HTTP;
	connect = http_slice_is(head.method, "CONNECT");
	if (connect)
		target_parse(head.target.at, head.target.len, 0, ret);
	else if (split_absolute(head.target, &authority, &path) == 0)
		target_parse(authority.at, authority.len, 80, ret);
	return connect ? VIA_CONNECT : VIA_HTTP;
}

/* A head that cannot be understood is for no target of before, unless there is only one. */
static bool malformed(struct connection *c, ssize_t error)
{
	uint32_t via = via_of(c);

	if (!c->bound) {
		audit_end(c, EGRESS_ALLOWED);
		c->verdict.rule = EGRESS_NO_RULE;
		via = read_target(c, &c->target);
	}
	audit_begin(c, via);
	if (c->bound && !c->verdict.allowed && c->verdict.reason != EGRESS_ASKED)
		return refuse(c, c->verdict.reason);
	if (error == -EPROTONOSUPPORT)
		return refuse_with(c, 505, EGRESS_BAD_HTTP, "Only HTTP/1.0 and HTTP/1.1 are understood here.");
	if (error == -ENOMEM)
		return refuse(c, EGRESS_LIMIT);
	return bad(c);
}

static bool judge(struct connection *c, struct request *q)
{
	c->in_looked = 0;
	c->wants_json = http_accept_prefers_json(&q->head);
	if (http_facts_read(&q->head, &q->facts) < 0)
		return malformed(c, -EBADMSG);
	if (c->bound)
		return bound_request(c, q);
	if (http_slice_is(q->head.method, "CONNECT"))
		return q->facts.body == HTTP_BODY_NONE ? connect_request(c, q) : malformed(c, -EBADMSG);
	return absolute_request(c, q);
}

static bool ended(struct connection *c)
{
	if (c->in.len > 0)
		return malformed(c, -EBADMSG);
	/* Between two requests, or before the first: nothing was asked for. */
	audit_end(c, EGRESS_ALLOWED);
	return connection_close(c);
}

bool request_step(struct connection *c)
{
	struct request q;

	if (c->upstream.peer_shut)
		connection_close_upstream(c);
	for (;;) {
		ssize_t n;

		/* Each line is looked at once it is complete: a head that comes byte by byte costs no more. */
		if (c->in.len > c->in_looked &&
		    (c->in_looked == 0 || memchr(c->in.data + c->in_looked, '\n', c->in.len - c->in_looked))) {
			if (!c->bound && (uint8_t)c->in.data[0] == TLS_RECORD_HANDSHAKE) {
				c->answer = ANSWER_CLOSE;
				c->target = (struct target){ 0 };
				audit_begin(c, VIA_HTTP);
				return refuse(c, EGRESS_TLS_TO_PROXY);
			}
			if (socks_is_first(c))
				return socks_begin(c);
			n = http_head_request(c->in.data, c->in.len, &q.head);
			if (n > 0) {
				q.len = (size_t)n;
				return judge(c, &q);
			}
			if (n < 0)
				return malformed(c, n);
			if (c->in_looked == 0)
				connection_must_say(c);
		}
		c->in_looked = c->in.len;
		if (c->in.len >= LIMIT_HTTP_HEAD)
			return malformed(c, -EMSGSIZE);
		n = connection_fill(c);
		if (n == 0)
			return false;
		if (n < 0)
			return n == -ENODATA ? ended(c) : malformed(c, n);
	}
}
