#ifndef ISOD_JSON_UTF8_H
#define ISOD_JSON_UTF8_H
/* Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool utf8_is_continuation(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the valid sequence at the front of at[0..n), 0 where there is none. n >= 1. */
static inline size_t utf8_sequence(const char *text, size_t n)
{
	const uint8_t *at = (const uint8_t *)text;
	uint8_t low = 0x80, high = 0xbf;
	size_t len;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	len = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	switch (at[0]) { /* the second byte tells overlong forms, surrogates and the end of the range */
	case 0xe0:
		low = 0xa0;
		break;
	case 0xed:
		high = 0x9f;
		break;
	case 0xf0:
		low = 0x90;
		break;
	case 0xf4:
		high = 0x8f;
		break;
	default:
		break;
	}
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (!utf8_is_continuation(at[i]))
			return 0;
	return len;
}

/* Tree form of an escaped byte (json/bytes.h): ED B2 80 .. ED B3 BF. The byte, or 0 where the text is none of these. */
static inline uint8_t utf8_escaped_byte(const char *text, size_t n)
{
	const uint8_t *at = (const uint8_t *)text;

	if (n < 3 || at[0] != 0xed || (at[1] != 0xb2 && at[1] != 0xb3) || !utf8_is_continuation(at[2]))
		return 0;
	/* ED B2 80 is U+DC80 and so on: the low byte of the code point is the byte. */
	return (uint8_t)((at[1] & 0x3) << 6 | (at[2] & 0x3f));
}

#endif
