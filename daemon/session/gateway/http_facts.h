#ifndef ISOD_SESSION_GATEWAY_HTTP_FACTS_H
#define ISOD_SESSION_GATEWAY_HTTP_FACTS_H
/* What a head says about its connection and its body, and the head that is passed on in its place. */
#include "base/buffer.h"
#include "daemon/session/gateway/http_body.h"
#include "daemon/session/gateway/http_head.h"

struct http_facts {
	enum http_body_kind body;
	uint64_t length; /* with HTTP_BODY_LENGTH */
	bool has_host;   /* exactly one Host header */
	struct http_slice host;
	bool close;            /* the sender ends the connection after this message */
	bool websocket;        /* Upgrade: websocket, and Connection names it */
	size_t connection_len; /* of all values of Connection fields */
};

/*
 * 0, -EMSGSIZE: Connection fields past LIMIT_HTTP_CONNECTION, or -EBADMSG: two lengths, a length that is no plain
 * number, a coding other than exactly "chunked", chunked and a length together, chunked in HTTP/1.0, two Host headers,
 * a Connection header that names a field which must stay. For a response the caller overrides .body where the request
 * or the status leaves none.
 */
int http_facts_read(const struct http_head *head, struct http_facts *ret);

/* Appends the request in origin form: path as the target, host as the one Host header, hop-by-hop fields left out. */
int http_facts_request(const struct http_head *head, const struct http_facts *facts, struct http_slice path,
		       struct http_slice host, struct buffer *ret);
/* Appends the response, hop-by-hop fields left out. close: adds "Connection: close". */
int http_facts_response(const struct http_head *head, const struct http_facts *facts, bool close, struct buffer *ret);

#endif
