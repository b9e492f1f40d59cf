#include "sshagent/ssh_wire.h"

#include <string.h>

bool ssh_read_u8(struct ssh_reader *r, uint8_t *ret)
{
	if (r->at == r->end)
		return false;
	*ret = *r->at++;
	return true;
}

bool ssh_read_u32(struct ssh_reader *r, uint32_t *ret)
{
	if (r->end - r->at < 4)
		return false;
	*ret = (uint32_t)r->at[0] << 24 | (uint32_t)r->at[1] << 16 | (uint32_t)r->at[2] << 8 | r->at[3];
	r->at += 4;
	return true;
}

bool ssh_read_string(struct ssh_reader *r, struct ssh_span *ret)
{
	struct ssh_reader copy = *r;
	uint32_t len;

	if (!ssh_read_u32(&copy, &len) || (size_t)(copy.end - copy.at) < len)
		return false;
	*ret = (struct ssh_span){ copy.at, len };
	r->at = copy.at + len;
	return true;
}

bool ssh_span_is(struct ssh_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.data, text, span.len) == 0;
}

bool ssh_span_equals(struct ssh_span a, struct ssh_span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

int ssh_write_u32(struct buffer *b, uint32_t value)
{
	const uint8_t bytes[] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
				  (uint8_t)value };

	return buffer_append(b, bytes, sizeof(bytes));
}

int ssh_write_string(struct buffer *b, struct ssh_span span)
{
	int r = ssh_write_u32(b, (uint32_t)span.len);

	return r < 0 ? r : buffer_append(b, span.data, span.len);
}
