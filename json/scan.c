#include "json/scan.h"

#include <stdbool.h>
#include <stdint.h>

#include "json/utf8.h"

const char *json_scan_utf8(const char *text, size_t len, size_t *at)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(text + i, len - i);

		*at = i;
		if (n == 0)
			return "the text is not valid UTF-8";
		if (text[i] == '\0')
			return "the text holds a NUL byte";
		i += n;
	}
	return NULL;
}

/* Past the string that opens at text[i]; len where it does not end. */
static size_t skip_string(const char *text, size_t len, size_t i)
{
	for (i++; i < len && text[i] != '"'; i++)
		if (text[i] == '\\')
			i++;
	return i < len ? i + 1 : len;
}

const char *json_scan_comments(char *text, size_t len, size_t *at)
{
	for (size_t i = 0; i < len;) {
		bool block;

		if (text[i] == '"') {
			i = skip_string(text, len, i);
			continue;
		}
		if (text[i] != '/' || len - i < 2 || (text[i + 1] != '/' && text[i + 1] != '*')) {
			i++;
			continue;
		}
		*at = i;
		block = text[i + 1] == '*';
		text[i++] = ' ';
		text[i++] = ' ';
		for (; i < len; i++) {
			if (!block && text[i] == '\n')
				break;
			if (block && text[i] == '*' && len - i > 1 && text[i + 1] == '/')
				break;
			if (text[i] != '\n')
				text[i] = ' ';
		}
		if (block) {
			if (i == len)
				return "the comment does not end";
			text[i++] = ' ';
			text[i++] = ' ';
		}
	}
	return NULL;
}

/* The four digits of \uXXXX at text[i]; -1 where they are none: yajl will say so. */
static int32_t escape_value(const char *text, size_t len, size_t i)
{
	int32_t value = 0;

	if (len - i < 6 || text[i] != '\\' || text[i + 1] != 'u')
		return -1;
	for (size_t k = i + 2; k < i + 6; k++) {
		char c = text[k];

		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value << 4 | ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* The length of the escape at text[i], or 0 with *why. */
static size_t check_escape(const char *text, size_t len, size_t i, const char **why)
{
	int32_t value = escape_value(text, len, i), next;

	if (value < 0)
		return 2;
	if (value == 0) {
		*why = "a string holds NUL";
		return 0;
	}
	if (value < 0xd800 || value > 0xdfff || (value >= 0xdc80 && value <= 0xdcff))
		return 6;
	next = value < 0xdc00 ? escape_value(text, len, i + 6) : -1;
	if (next >= 0xdc00 && next <= 0xdfff)
		return 12;
	*why = "a string holds a lone surrogate";
	return 0;
}

const char *json_scan_escapes(const char *text, size_t len, size_t *at)
{
	const char *why = NULL;
	bool inside = false;

	for (size_t i = 0; i < len;) {
		size_t n = 1;

		if (text[i] == '"')
			inside = !inside;
		else if (inside && text[i] == '\\')
			n = check_escape(text, len, i, &why);
		if (n == 0) {
			*at = i;
			return why;
		}
		i += n;
	}
	return NULL;
}
