#ifndef ISOD_SSHAGENT_SSH_WIRE_H
#define ISOD_SSHAGENT_SSH_WIRE_H
/* Bytes as SSH writes them (RFC 4251): big-endian numbers, strings with a length before them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Part of somebody else's memory. */
struct ssh_span {
	const uint8_t *data;
	size_t len;
};

struct ssh_reader {
	const uint8_t *at;
	const uint8_t *end;
};

static inline struct ssh_reader ssh_reader_of(struct ssh_span span)
{
	return (struct ssh_reader){ span.data, span.data + span.len };
}

static inline bool ssh_read_end(const struct ssh_reader *r)
{
	return r->at == r->end;
}

/* False, and nothing is consumed, where there are too few bytes. */
bool ssh_read_u8(struct ssh_reader *r, uint8_t *ret);
bool ssh_read_u32(struct ssh_reader *r, uint32_t *ret);
bool ssh_read_string(struct ssh_reader *r, struct ssh_span *ret);

bool ssh_span_is(struct ssh_span span, const char *text);
bool ssh_span_equals(struct ssh_span a, struct ssh_span b);

/* As of buffer_append(). */
int ssh_write_u32(struct buffer *b, uint32_t value);
int ssh_write_string(struct buffer *b, struct ssh_span span);

#endif
