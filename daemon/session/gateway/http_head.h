#ifndef ISOD_SESSION_GATEWAY_HTTP_HEAD_H
#define ISOD_SESSION_GATEWAY_HTTP_HEAD_H
/*
 * The head of an HTTP/1.x message. Hostile bytes: nothing is allocated, results are slices of the input. Where RFC 9112
 * lets a recipient be lenient this one is not, since two readers that are lenient in different ways can be played
 * against each other: no bare LF, no folding, no blank before the colon, no control characters.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"

struct http_slice {
	const char *at;
	size_t len;
};

struct http_header {
	struct http_slice name;
	struct http_slice value; /* without blanks around it */
	bool trailing;           /* there were blanks after it */
};

struct http_head {
	bool is_request;
	uint8_t minor; /* HTTP/1.minor */
	struct http_slice method;
	struct http_slice target;
	uint16_t status;
	struct http_slice phrase;
	uint32_t n_headers;
	struct http_header headers[LIMIT_HTTP_HEADERS];
};

/*
 * > 0: the length of the head with its empty line. 0: more bytes are needed. -EBADMSG: malformed; found as early as
 * possible. -EPROTONOSUPPORT: well-formed so far, but another major version (HTTP/2 preface). -EMSGSIZE: past
 * LIMIT_HTTP_HEAD or LIMIT_HTTP_HEADERS.
 */
ssize_t http_head_request(const char *data, size_t len, struct http_head *ret);
/* The first line alone, where what follows is malformed or not there yet: its length, 0 or -errno as above. */
ssize_t http_head_request_line(const char *data, size_t len, struct http_head *ret);
ssize_t http_head_response(const char *data, size_t len, struct http_head *ret);

/*
 * Do these first bytes of a connection begin an HTTP/1.x request, i.e. with a known method and a line that ends in the
 * version? 1: a complete request line. 0: cannot be told yet. -EPROTO: no.
 */
int http_head_sniff(const char *data, size_t len);

bool http_slice_is(struct http_slice s, const char *text); /* letter case ignored */
bool http_head_is_token_char(unsigned char c);

#endif
