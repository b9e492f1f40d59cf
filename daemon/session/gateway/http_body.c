#include "daemon/session/gateway/http_body.h"

#include <errno.h>

#include "daemon/session/gateway/http_head.h"

/* Extensions mean nothing to anybody and long ones hide things; trailers hold a checksum or two. */
enum { SIZE_LINE_MAX = 1024, TRAILERS_MAX = 8192 };

/* Where in a chunked body the next byte lies. LF states come after a CR: a bare LF is never taken. */
enum chunk_state {
	CHUNK_SIZE_FIRST,
	CHUNK_SIZE,
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_LINE, /* first byte of a trailer line, or the CR of the last, empty line */
	CHUNK_NAME,
	CHUNK_VALUE,
	CHUNK_VALUE_LF,
	CHUNK_END_LF,
};

void http_body_init(struct http_body *b, enum http_body_kind kind, uint64_t length)
{
	*b = (struct http_body){ .kind = kind, .state = CHUNK_SIZE_FIRST };
	if (kind == HTTP_BODY_LENGTH)
		b->left = length;
	b->done = kind == HTTP_BODY_NONE || (kind == HTTP_BODY_LENGTH && length == 0);
}

void http_body_skip(struct http_body *b, size_t n)
{
	if (b->kind != HTTP_BODY_LENGTH)
		return;
	b->left -= n;
	b->done = b->left == 0;
}

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int size_byte(struct http_body *b, unsigned char c)
{
	int digit = hex_digit(c);

	if (++b->line > SIZE_LINE_MAX)
		return -EBADMSG;
	if (digit >= 0) {
		if (b->left >> 56)
			return -EBADMSG;
		b->left = b->left << 4 | (unsigned)digit;
		b->state = CHUNK_SIZE;
		return 0;
	}
	if (b->state == CHUNK_SIZE_FIRST || (c != ';' && c != '\r'))
		return -EBADMSG;
	b->state = c == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF;
	return 0;
}

/* Text of an extension or a trailer's value, up to its CR. */
static int text_byte(struct http_body *b, unsigned char c, uint32_t max, enum chunk_state after_cr)
{
	if (++b->line > max)
		return -EBADMSG;
	if (c == '\r')
		b->state = after_cr;
	else if ((c < 0x20 && c != '\t') || c == 0x7f)
		return -EBADMSG;
	return 0;
}

static int name_byte(struct http_body *b, unsigned char c)
{
	if (++b->line > TRAILERS_MAX)
		return -EBADMSG;
	if (b->state == CHUNK_LINE && c == '\r') {
		b->state = CHUNK_END_LF;
		return 0;
	}
	if (b->state == CHUNK_NAME && c == ':') {
		b->state = CHUNK_VALUE;
		return 0;
	}
	if (!http_head_is_token_char(c))
		return -EBADMSG;
	b->state = CHUNK_NAME;
	return 0;
}

/* A fixed byte, then the next state. */
static int expect_byte(struct http_body *b, unsigned char c, unsigned char wanted, enum chunk_state next)
{
	if (c != wanted)
		return -EBADMSG;
	b->state = next;
	return 0;
}

static int chunk_byte(struct http_body *b, unsigned char c)
{
	switch ((enum chunk_state)b->state) {
	case CHUNK_SIZE_FIRST:
	case CHUNK_SIZE:
		return size_byte(b, c);
	case CHUNK_EXTENSION:
		return text_byte(b, c, SIZE_LINE_MAX, CHUNK_SIZE_LF);
	case CHUNK_SIZE_LF:
		b->line = 0;
		return expect_byte(b, c, '\n', b->left > 0 ? CHUNK_DATA : CHUNK_LINE);
	case CHUNK_DATA:
		break;
	case CHUNK_DATA_CR:
		return expect_byte(b, c, '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		return expect_byte(b, c, '\n', CHUNK_SIZE_FIRST);
	case CHUNK_LINE:
	case CHUNK_NAME:
		return name_byte(b, c);
	case CHUNK_VALUE:
		return text_byte(b, c, TRAILERS_MAX, CHUNK_VALUE_LF);
	case CHUNK_VALUE_LF:
		return expect_byte(b, c, '\n', CHUNK_LINE);
	case CHUNK_END_LF:
		b->done = c == '\n';
		return b->done ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

static ssize_t feed_chunked(struct http_body *b, const char *data, size_t len)
{
	size_t i = 0;

	while (i < len && !b->done) {
		if (b->state == CHUNK_DATA) {
			size_t n = len - i < b->left ? len - i : (size_t)b->left;

			i += n;
			b->left -= n;
			if (b->left == 0)
				b->state = CHUNK_DATA_CR;
			continue;
		}
		if (chunk_byte(b, (unsigned char)data[i]) < 0)
			return -EBADMSG;
		i++;
	}
	return (ssize_t)i;
}

ssize_t http_body_feed(struct http_body *b, const char *data, size_t len)
{
	size_t n = len;

	switch ((enum http_body_kind)b->kind) {
	case HTTP_BODY_NONE:
		return 0;
	case HTTP_BODY_CHUNKED:
		return feed_chunked(b, data, len);
	case HTTP_BODY_LENGTH:
		if (n > b->left)
			n = (size_t)b->left;
		http_body_skip(b, n);
		return (ssize_t)n;
	case HTTP_BODY_CLOSE:
		break;
	}
	return (ssize_t)n;
}
