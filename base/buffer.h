#ifndef ISOD_BASE_BUFFER_H
#define ISOD_BASE_BUFFER_H
/* Growing bytes with a bound. Embedded: BUFFER_INIT(max), buffer_done(). .data is not terminated unless asked for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	char *data;
	size_t len;
	size_t size;
	size_t max; /* never grows past this */
};

#define BUFFER_INIT(limit)                                                                                             \
	{                                                                                                              \
		.max = (limit)                                                                                         \
	}

void buffer_done(struct buffer *b);
#define _cleanup_buffer_ __attribute__((cleanup(buffer_done)))

/* Room for n more bytes at data + len. -EMSGSIZE past the bound, -ENOMEM. */
int buffer_reserve(struct buffer *b, size_t n);
int buffer_append(struct buffer *b, const void *data, size_t n);
int buffer_append_string(struct buffer *b, const char *text);
int buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Little-endian, fixed width: the form of all our binary messages. */
int buffer_append_u8(struct buffer *b, uint8_t value);
int buffer_append_u16(struct buffer *b, uint16_t value);
int buffer_append_u32(struct buffer *b, uint32_t value);
int buffer_append_u64(struct buffer *b, uint64_t value);
/* u32 length, then the bytes. */
int buffer_append_block(struct buffer *b, const void *data, size_t n);
/* Drops n bytes from the front. */
void buffer_consume(struct buffer *b, size_t n);

/* Reading the same form back. A cursor never moves past its end; after one failure every read fails (-EBADMSG). */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

int cursor_u8(struct cursor *c, uint8_t *ret);
int cursor_u16(struct cursor *c, uint16_t *ret);
int cursor_u32(struct cursor *c, uint32_t *ret);
int cursor_u64(struct cursor *c, uint64_t *ret);
/* A slice of the cursor's own memory. */
int cursor_block(struct cursor *c, size_t max, const uint8_t **ret, size_t *ret_len);
/* A block that ends in its only NUL, usable as a C string in place; the NUL is part of the block. */
int cursor_string(struct cursor *c, size_t max, const char **ret);

#endif
