#include "client/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at text and its code point; 0 where there is none. */
static size_t sequence(const unsigned char *text, size_t len, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = text[0] < 0x80 ? 1 : text[0] < 0xc0 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	uint32_t code = n == 1 ? text[0] : n == 2 ? text[0] & 0x1fU : n == 3 ? text[0] & 0x0fU : text[0] & 0x07U;

	if (n == 0 || n > len || text[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3fU);
	}
	if (n > 1 && (code < smallest[n] || code > 0x10ffff))
		return 0;
	*ret = code;
	return n;
}

static bool is_deceptive(uint32_t code)
{
	return code == 0x061c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
	       (code >= 0xe0000 && code <= 0xe007f);
}

static int append_code(struct buffer *out, const unsigned char *text, size_t n, uint32_t code)
{
	/* The tree form of a byte that is no UTF-8. */
	if (code >= 0xdc80 && code <= 0xdcff)
		return buffer_printf(out, "\\x%02x", (unsigned)(code - 0xdc00));
	if (code >= 0xd800 && code <= 0xdfff)
		return buffer_printf(out, "\\u{%x}", (unsigned)code);
	switch (code) {
	case '\n':
		return buffer_append_string(out, "\\n");
	case '\t':
		return buffer_append_string(out, "\\t");
	case '\r':
		return buffer_append_string(out, "\\r");
	default:
		break;
	}
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return buffer_printf(out, "\\x%02x", (unsigned)code);
	if (is_deceptive(code))
		return buffer_printf(out, "\\u{%x}", (unsigned)code);
	return buffer_append(out, text, n);
}

int escape_append(struct buffer *out, const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + len;

	while (at < end) {
		uint32_t code;
		size_t n = sequence(at, (size_t)(end - at), &code);
		int r = n ? append_code(out, at, n, code) : buffer_printf(out, "\\x%02x", *at);

		if (r < 0)
			return r;
		at += n ? n : 1;
	}
	return 0;
}

void escape_print(FILE *to, const char *text)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(SIZE_MAX);

	if (text && escape_append(&line, text, strlen(text)) == 0 && line.len > 0)
		fwrite(line.data, 1, line.len, to);
}
