#include "base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_done(struct buffer *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->size = 0;
}

int buffer_reserve(struct buffer *b, size_t n)
{
	size_t need, size;
	char *data;

	if (__builtin_add_overflow(b->len, n, &need) || need > b->max)
		return -EMSGSIZE;
	if (need <= b->size)
		return 0;
	size = b->size ? b->size : 256;
	while (size < need)
		size *= 2;
	if (size > b->max)
		size = b->max;
	data = realloc(b->data, size);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->size = size;
	return 0;
}

int buffer_append(struct buffer *b, const void *data, size_t n)
{
	int r = buffer_reserve(b, n);

	if (r < 0)
		return r;
	if (n > 0)
		memcpy(b->data + b->len, data, n);
	b->len += n;
	return 0;
}

int buffer_append_string(struct buffer *b, const char *text)
{
	return buffer_append(b, text, strlen(text));
}

int buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	r = buffer_reserve(b, (size_t)n + 1);
	if (r < 0)
		return r;
	va_start(ap, format);
	vsnprintf(b->data + b->len, (size_t)n + 1, format, ap);
	va_end(ap);
	b->len += n;
	return 0;
}

static int append_number(struct buffer *b, uint64_t value, size_t width)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < width; i++)
		bytes[i] = value >> (8 * i);
	return buffer_append(b, bytes, width);
}

int buffer_append_u8(struct buffer *b, uint8_t value)
{
	return append_number(b, value, 1);
}
int buffer_append_u16(struct buffer *b, uint16_t value)
{
	return append_number(b, value, 2);
}
int buffer_append_u32(struct buffer *b, uint32_t value)
{
	return append_number(b, value, 4);
}
int buffer_append_u64(struct buffer *b, uint64_t value)
{
	return append_number(b, value, 8);
}

int buffer_append_block(struct buffer *b, const void *data, size_t n)
{
	int r;

	if (n > UINT32_MAX)
		return -EMSGSIZE;
	r = buffer_append_u32(b, n);
	return r < 0 ? r : buffer_append(b, data, n);
}

void buffer_consume(struct buffer *b, size_t n)
{
	if (n >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

static int cursor_number(struct cursor *c, size_t width, uint64_t *ret)
{
	uint64_t value = 0;

	if (!c->at || (size_t)(c->end - c->at) < width) {
		c->at = NULL;
		return -EBADMSG;
	}
	for (size_t i = 0; i < width; i++)
		value |= (uint64_t)c->at[i] << (8 * i);
	c->at += width;
	*ret = value;
	return 0;
}

int cursor_u8(struct cursor *c, uint8_t *ret)
{
	uint64_t value;
	int r = cursor_number(c, sizeof(*ret), &value);

	if (r < 0)
		return r;
	*ret = (uint8_t)value;
	return 0;
}

int cursor_u16(struct cursor *c, uint16_t *ret)
{
	uint64_t value;
	int r = cursor_number(c, sizeof(*ret), &value);

	if (r < 0)
		return r;
	*ret = (uint16_t)value;
	return 0;
}

int cursor_u32(struct cursor *c, uint32_t *ret)
{
	uint64_t value;
	int r = cursor_number(c, sizeof(*ret), &value);

	if (r < 0)
		return r;
	*ret = (uint32_t)value;
	return 0;
}

int cursor_u64(struct cursor *c, uint64_t *ret)
{
	uint64_t value;
	int r = cursor_number(c, sizeof(*ret), &value);

	if (r < 0)
		return r;
	*ret = value;
	return 0;
}

int cursor_block(struct cursor *c, size_t max, const uint8_t **ret, size_t *ret_len)
{
	uint32_t len;
	int r = cursor_u32(c, &len);

	if (r < 0)
		return r;
	if (len > max || len > (size_t)(c->end - c->at)) {
		c->at = NULL;
		return -EBADMSG;
	}
	*ret = c->at;
	*ret_len = len;
	c->at += len;
	return 0;
}

int cursor_string(struct cursor *c, size_t max, const char **ret)
{
	const uint8_t *block;
	size_t len;
	int r = cursor_block(c, max, &block, &len);

	if (r < 0)
		return r;
	if (len == 0 || memchr(block, 0, len) != block + len - 1) {
		c->at = NULL;
		return -EBADMSG;
	}
	*ret = (const char *)block;
	return 0;
}
