#include "git/git_pointer.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int git_pointer_read_line(const char *data, size_t len, char *ret, size_t ret_size)
{
	while (len > 0 && (data[len - 1] == '\n' || data[len - 1] == '\r'))
		len--;
	if (len == 0 || memchr(data, '\0', len) || memchr(data, '\n', len))
		return -EBADMSG;
	if (len >= ret_size)
		return -ENAMETOOLONG;
	memcpy(ret, data, len);
	ret[len] = '\0';
	return 0;
}

int git_pointer_read_gitfile(const char *data, size_t len, char *ret, size_t ret_size)
{
	static const char prefix[] = "gitdir: ";
	const size_t n = sizeof(prefix) - 1;

	if (len < n || memcmp(data, prefix, n) != 0)
		return -EBADMSG;
	return git_pointer_read_line(data + n, len - n, ret, ret_size);
}

/* The byte that an escape stands for; -1. *at: behind the backslash. */
static int unescape(const char **at, const char *end)
{
	static const char from[] = "abfnrtv\\\"", to[] = "\a\b\f\n\r\t\v\\\"";
	const char *known;
	int value = 0;

	if (*at == end)
		return -1;
	known = **at ? strchr(from, **at) : NULL;
	if (known) {
		(*at)++;
		return (unsigned char)to[known - from];
	}
	for (int i = 0; i < 3; i++, (*at)++) {
		if (*at == end || **at < '0' || **at > '7' || (i == 0 && **at > '3'))
			return -1;
		value = value * 8 + (**at - '0');
	}
	return value;
}

/* The text between quotes of at .. end, which must fill it. */
static int unquote(const char *at, const char *end, char *ret, size_t ret_size)
{
	size_t len = 0;

	for (at++; at < end && *at != '"';) {
		int byte = (unsigned char)*at++;

		if (byte == '\\')
			byte = unescape(&at, end);
		if (byte <= 0)
			return -EBADMSG;
		if (len + 1 >= ret_size)
			return -ENAMETOOLONG;
		ret[len++] = (char)byte;
	}
	if (at == end || at + 1 != end || len == 0)
		return -EBADMSG;
	ret[len] = '\0';
	return 1;
}

int git_pointer_next_alternate(const char **at, const char *end, char *ret, size_t ret_size)
{
	while (*at < end) {
		const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
		int r;

		if (!stop)
			stop = end;
		*at = stop < end ? stop + 1 : end;
		if (line == stop || *line == '#')
			continue;
		if (*line == '"')
			return unquote(line, stop, ret, ret_size);
		r = git_pointer_read_line(line, (size_t)(stop - line), ret, ret_size);
		return r < 0 ? r : 1;
	}
	return 0;
}
