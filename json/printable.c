#include "json/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "json/utf8.h"

static bool is_harmless(const char *at, size_t n)
{
	uint8_t first = (uint8_t)at[0], second = n > 1 ? (uint8_t)at[1] : 0, third = n > 2 ? (uint8_t)at[2] : 0;

	if (n == 1)
		return first >= 0x20 && first != 0x7f;
	if (first == 0xc2 && second < 0xa0) /* C1 controls */
		return false;
	/* U+2028..202E, U+2066..2069: line ends and changes of direction */
	if (first == 0xe2 && second == 0x80 && third >= 0xa8 && third <= 0xae)
		return false;
	return !(first == 0xe2 && second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

struct json_printable json_printable(const char *text)
{
	struct json_printable ret = { .text = "" };
	size_t left = strlen(text), n = 0;

	while (left > 0) {
		size_t len = utf8_sequence(text, left);
		size_t step = len > 0 ? len : utf8_escaped_byte(text, left) ? 3 : 1;

		if (n + step + sizeof("...") > sizeof(ret.text)) {
			memcpy(ret.text + n, "...", sizeof("..."));
			return ret;
		}
		if (len > 0 && is_harmless(text, len)) {
			memcpy(ret.text + n, text, len);
			n += len;
		} else {
			ret.text[n++] = '?';
		}
		text += step;
		left -= step;
	}
	ret.text[n] = '\0';
	return ret;
}
