#include "json/bytes.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "json/utf8.h"

/* True where the bytes, all of them escaped in the text, hold a sequence that had no need to be. */
static int is_second_spelling(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (utf8_sequence(bytes + i, n - i) > 0)
			return 1;
	return 0;
}

long json_bytes_decode(const char *text, size_t len, char *ret)
{
	size_t n = 0, run = 0; /* run: where the escaped bytes just before n begin */

	for (size_t i = 0; i < len;) {
		size_t step = utf8_sequence(text + i, len - i);
		uint8_t byte;

		if (step > 0) {
			if (text[i] == '\0' || is_second_spelling(ret + run, n - run))
				return -EINVAL;
			memmove(ret + n, text + i, step);
			n += step;
			i += step;
			run = n;
			continue;
		}
		byte = utf8_escaped_byte(text + i, len - i);
		if (byte < 0x80)
			return -EINVAL;
		ret[n++] = (char)byte;
		i += 3;
	}
	if (is_second_spelling(ret + run, n - run))
		return -EINVAL;
	ret[n] = '\0';
	return (long)n;
}
