#include "view/path_fold.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static char lower(char c)
{
	return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* One sign of more than one byte. How many bytes it has; 0: it is none. */
static size_t read_sign(const char *at, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)at;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;

	if (n == 0)
		return 0;
	*ret = p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*ret = *ret << 6 | (p[i] & 0x3f);
	}
	return n;
}

/* Unicode's Default_Ignorable_Code_Point. */
static bool is_ignored(uint32_t sign)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = { { 0xad, 0xad },      { 0x34f, 0x34f },   { 0x61c, 0x61c },     { 0x115f, 0x1160 },
		       { 0x17b4, 0x17b5 },  { 0x180b, 0x180f }, { 0x200b, 0x200f },   { 0x202a, 0x202e },
		       { 0x2060, 0x206f },  { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
		       { 0xffa0, 0xffa0 },  { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		       { 0xe0000, 0xe0fff } };

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (ranges[i].from <= sign && sign <= ranges[i].to)
			return true;
	return false;
}

/* What it is in ASCII; "" = nothing, NULL = it is not ASCII. Never longer than the sign. */
static const char *ascii_of(uint32_t sign)
{
	static const struct {
		uint32_t sign;
		const char *text;
	} signs[] = { { 0xdf, "ss" },    { 0x17f, "s" },   { 0x1e9e, "ss" }, { 0x212a, "k" },
		      { 0xfb00, "ff" },  { 0xfb01, "fi" }, { 0xfb02, "fl" }, { 0xfb03, "ffi" },
		      { 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" } };

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (signs[i].sign == sign)
			return signs[i].text;
	return is_ignored(sign) ? "" : NULL;
}

static size_t fold_signs(const char *name, size_t len, char *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		uint32_t sign = 0;
		size_t size = read_sign(name + i, &sign);
		const char *text = size > 0 && size <= len - i ? ascii_of(sign) : NULL;

		if (text) {
			memcpy(ret + n, text, strlen(text));
			n += strlen(text);
			i += size;
		} else {
			ret[n++] = lower(name[i++]);
		}
	}
	while (n > 0 && ret[n - 1] == '.')
		n--;
	return n;
}

void path_fold(const char *path, char *ret)
{
	while (*path) {
		const char *end = strchrnul(path + 1, '/');
		size_t len = (size_t)(end - path) - 1, n = fold_signs(path + 1, len, ret + 1);

		*ret = '/';
		for (size_t i = 0; n == 0 && i < len; i++)
			ret[1 + i] = lower(path[1 + i]);
		ret += 1 + (n ? n : len);
		path = end;
	}
	*ret = '\0';
}

/* The "]" of the set whose "[" is just before p; NULL: it has none and the bracket stands for itself. */
static const char *end_of_set(const char *p, const char *end)
{
	const char *first = p += p < end && *p == '!';

	for (; p < end && (*p != ']' || p == first); p++)
		if (end - p > 2 && p[1] == '-' && p[2] != ']')
			p += 2;
	return p < end ? p : NULL;
}

/* Its bytes up to the "]". A range that is of capitals at one end alone becomes a longer one. */
static void fold_set(const char *p, const char *close, char *ret)
{
	for (; p < close; p++, ret++) {
		bool range = close - p > 2 && p[1] == '-';

		*ret = range && !is_upper(p[2]) ? *p : lower(*p);
		if (!range)
			continue;
		ret[1] = '-';
		ret[2] = lower(p[2]);
		p += 2;
		ret += 2;
	}
}

static size_t fold_part(const char *part, size_t len, char *ret)
{
	const char *end = part + len;
	size_t n = 0;

	for (const char *p = part; p < end;) {
		const char *close = *p == '[' ? end_of_set(p + 1, end) : NULL;
		uint32_t sign = 0;
		size_t size = read_sign(p, &sign);
		const char *text = size > 0 && size <= (size_t)(end - p) ? ascii_of(sign) : NULL;

		if (close) {
			ret[n++] = '[';
			fold_set(p + 1, close, ret + n);
			n += (size_t)(close - p) - 1;
			p = close;
		} else if (text) {
			memcpy(ret + n, text, strlen(text));
			n += strlen(text);
			p += size;
			continue;
		} else if (*p == '\\' && p + 1 < end) {
			ret[n++] = *p++;
		}
		ret[n++] = lower(*p++);
	}
	while (n > 0 && ret[n - 1] == '.')
		n -= n > 1 && ret[n - 2] == '\\' ? 2 : 1;
	return n;
}

void path_fold_pattern(const char *pattern, char *ret)
{
	while (*pattern) {
		const char *end = strchrnul(pattern + 1, '/');
		size_t len = (size_t)(end - pattern) - 1, n = fold_part(pattern + 1, len, ret + 1);

		*ret = '/';
		for (size_t i = 0; n == 0 && i < len; i++)
			ret[1 + i] = lower(pattern[1 + i]);
		ret += 1 + (n ? n : len);
		pattern = end;
	}
	*ret = '\0';
}
