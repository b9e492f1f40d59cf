#include "proto/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/limits.h"

/* Payload sizes by type; a type with no entry is unknown. */
static const struct {
	bool known;
	uint32_t min;
	uint32_t max;
} sizes[] = {
	[STREAM_STDIN] = { true, 0, LIMIT_FRAME },
	[STREAM_RESIZE] = { true, 4, 4 },
	[STREAM_SIGNAL] = { true, 4, 4 },
	[STREAM_CONTINUE] = { true, 0, 0 },
	[STREAM_DETACH] = { true, 0, 0 },
	[STREAM_STDOUT] = { true, 0, LIMIT_FRAME },
	[STREAM_STDERR] = { true, 0, LIMIT_FRAME },
	[STREAM_STOPPED] = { true, 4, 4 },
	[STREAM_EXIT] = { true, 8, 8 },
	[STREAM_LATE] = { true, 8, 8 + LIMIT_PATH },
	[STREAM_ROLE] = { true, 8, 8 },
	[STREAM_DETACHED] = { true, 4, 4 },
	[STREAM_SIZE] = { true, 4, 4 },
};

static bool fits(uint8_t type, size_t len)
{
	return type < sizeof(sizes) / sizeof(sizes[0]) && sizes[type].known && len >= sizes[type].min &&
	       len <= sizes[type].max;
}

uint16_t stream_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

uint32_t stream_u32(const uint8_t *at)
{
	return stream_u16(at) | (uint32_t)stream_u16(at + 2) << 16;
}

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

long stream_parse(const uint8_t *data, size_t len, struct stream_frame *ret)
{
	uint32_t size;

	if (len < STREAM_HEADER)
		return 0;
	size = stream_u32(data + 4);
	if (data[1] != 0 || data[2] != 0 || data[3] != 0 || !fits(data[0], size))
		return -EBADMSG;
	if (len - STREAM_HEADER < size)
		return 0;
	ret->type = data[0];
	ret->payload = data + STREAM_HEADER;
	ret->len = size;
	return (long)(STREAM_HEADER + size);
}

void stream_header(uint8_t type, uint32_t len, uint8_t ret[STREAM_HEADER])
{
	memset(ret, 0, STREAM_HEADER);
	ret[0] = type;
	put_u32(ret + 4, len);
}

int stream_append(struct buffer *b, uint8_t type, const void *payload, size_t len)
{
	uint8_t header[STREAM_HEADER];
	int r;

	if (!fits(type, len))
		return -EINVAL;
	r = buffer_reserve(b, STREAM_HEADER + len); /* a whole frame or none */
	if (r < 0)
		return r;
	stream_header(type, (uint32_t)len, header);
	buffer_append(b, header, sizeof(header));
	return buffer_append(b, payload, len);
}

int stream_append_u16_u16(struct buffer *b, uint8_t type, uint16_t a, uint16_t c)
{
	uint8_t payload[4];

	put_u16(payload, a);
	put_u16(payload + 2, c);
	return stream_append(b, type, payload, sizeof(payload));
}

int stream_append_u32(struct buffer *b, uint8_t type, uint32_t a)
{
	uint8_t payload[4];

	put_u32(payload, a);
	return stream_append(b, type, payload, sizeof(payload));
}

int stream_append_u32_u32(struct buffer *b, uint8_t type, uint32_t a, uint32_t c)
{
	uint8_t payload[8];

	put_u32(payload, a);
	put_u32(payload + 4, c);
	return stream_append(b, type, payload, sizeof(payload));
}

int stream_append_late(struct buffer *b, uint32_t late, uint32_t count, const char *path, size_t len)
{
	uint8_t payload[8 + LIMIT_PATH];

	if (len > LIMIT_PATH)
		return -EMSGSIZE;
	put_u32(payload, late);
	put_u32(payload + 4, count);
	memcpy(payload + 8, path, len);
	return stream_append(b, STREAM_LATE, payload, 8 + len);
}
