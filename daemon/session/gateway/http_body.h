#ifndef ISOD_SESSION_GATEWAY_HTTP_BODY_H
#define ISOD_SESSION_GATEWAY_HTTP_BODY_H
/* Where the body of an HTTP/1.x message ends. Chunks are checked, not unpacked: the very bytes are passed on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum http_body_kind {
	HTTP_BODY_NONE = 0,
	HTTP_BODY_LENGTH,
	HTTP_BODY_CHUNKED,
	HTTP_BODY_CLOSE, /* until the sender closes: responses only */
};

struct http_body {
	uint8_t kind;  /* enum http_body_kind */
	uint8_t state; /* within a chunked body */
	bool done;
	uint32_t line; /* bytes of the current size line, or of all trailers */
	uint64_t left; /* bytes to come, of the body or of this chunk */
};

void http_body_init(struct http_body *b, enum http_body_kind kind, uint64_t length);

/* How many of the bytes belong to the body; .done says that it is complete. -EBADMSG: malformed chunks. */
ssize_t http_body_feed(struct http_body *b, const char *data, size_t len);
/* n bytes passed unseen: HTTP_BODY_LENGTH and HTTP_BODY_CLOSE only, n <= left. */
void http_body_skip(struct http_body *b, size_t n);

#endif
