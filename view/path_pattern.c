#include "view/path_pattern.h"

#include <errno.h>
#include <string.h>

/* What it takes to find the end of two parts, in comparisons of a byte. */
#define PART_WORK 8

static bool is_wildcard(char c)
{
	return c == '*' || c == '?' || c == '[';
}

bool path_pattern_is_literal(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		if (is_wildcard(*p))
			return false;
		if (*p == '\\' && p[1] != '\0' && p[1] != '/')
			p++;
	}
	return true;
}

int path_pattern_unescape(const char *pattern, char *ret, size_t size)
{
	size_t n = 0;

	if (!path_pattern_is_literal(pattern))
		return -EINVAL;
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1] != '\0' && p[1] != '/')
			p++;
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		ret[n++] = *p;
	}
	if (n >= size)
		return -ENAMETOOLONG;
	ret[n] = '\0';
	return 0;
}

int path_pattern_escape(const char *path, char *ret, size_t size)
{
	size_t n = 0;

	for (const char *p = path; *p; p++) {
		bool special = is_wildcard(*p) || *p == '\\';

		if (n + special + 1 >= size)
			return -ENAMETOOLONG;
		if (special)
			ret[n++] = '\\';
		ret[n++] = *p;
	}
	if (n >= size)
		return -ENAMETOOLONG;
	ret[n] = '\0';
	return 0;
}

unsigned path_pattern_parts(const char *pattern)
{
	unsigned n = 0;

	for (const char *p = pattern; *p; p++) {
		n += *p == '/' && n > 0;
		if (*p == '\\' && p[1] != '\0' && p[1] != '/')
			p++;
		else if (n == 0 && is_wildcard(*p))
			n = 1;
	}
	return n;
}

bool path_pattern_ends_literal(const char *pattern)
{
	const char *slash = strrchr(pattern, '/');

	return path_pattern_is_literal(slash ? slash : pattern);
}

/* The byte set at p (just after "["): its end (after "]"), or NULL where it has none and "[" stands for itself. */
static const char *match_set(const char *p, const char *end, unsigned char c, bool *ret)
{
	bool negated = p < end && *p == '!', found = false;
	const char *first = p += negated;

	while (p < end && (*p != ']' || p == first)) {
		unsigned char low = (unsigned char)*p, high = low;

		if (end - p > 2 && p[1] == '-' && p[2] != ']') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found |= low <= c && c <= high;
		p++;
	}
	*ret = found != negated;
	return p < end ? p + 1 : NULL;
}

/* One item of a pattern against one byte; *p moves past the item. */
static bool match_byte(const char **p, const char *end, unsigned char c)
{
	const char *at = *p;
	bool matches;

	if (*at == '[') {
		const char *after = match_set(at + 1, end, c, &matches);

		if (after) {
			*p = after;
			return matches;
		}
	}
	if (*at == '\\' && at + 1 < end)
		at++;
	else if (*at == '?') {
		*p = at + 1;
		return true;
	}
	*p = at + 1;
	return (unsigned char)*at == c;
}

/* The last "*" is where to try again with one byte more: earlier ones need not be tried anew. */
bool path_pattern_match_name_counted(const char *pattern, size_t pattern_len, const char *name, size_t name_len,
				     uint64_t *work)
{
	const char *p = pattern, *end = pattern + pattern_len, *n = name, *name_end = name + name_len;
	const char *star = NULL, *retry = NULL;

	for (;;) {
		++*work;
		if (p < end && *p == '*') {
			star = ++p;
			retry = n;
			continue;
		}
		if (n == name_end) {
			if (p == end)
				return true;
			return false;
		}
		if (p < end && match_byte(&p, end, (unsigned char)*n)) {
			n++;
			continue;
		}
		if (!star)
			return false;
		p = star;
		n = ++retry;
	}
}

bool path_pattern_match_name(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
	uint64_t work = 0;

	return path_pattern_match_name_counted(pattern, pattern_len, name, name_len, &work);
}

static size_t component(const char *at)
{
	return (size_t)(strchrnul(at, '/') - at);
}

static bool is_any_depth(const char *at, size_t len)
{
	return len == 2 && at[0] == '*' && at[1] == '*';
}

/* Both at a component or at their end; as with "*", the last "**" is the only one to try again. */
static bool match_components(const char *p, const char *path, const char *path_end, uint64_t *work)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		size_t n = component(p), m = path < path_end ? component(path) : 0;

		*work += PART_WORK;
		if (path < path_end && m > (size_t)(path_end - path))
			m = (size_t)(path_end - path);
		if (*p && is_any_depth(p, n)) {
			p += n + (p[n] == '/');
			star = p;
			retry = path;
			continue;
		}
		if (path >= path_end)
			return *p == '\0';
		if (*p && path_pattern_match_name_counted(p, n, path, m, work)) {
			p += n + (p[n] == '/');
			path += m + 1;
			continue;
		}
		if (!star)
			return false;
		p = star;
		retry += component(retry) + 1;
		path = retry;
	}
}

bool path_pattern_match(const char *pattern, const char *path)
{
	uint64_t work = 0;

	return match_components(pattern + 1, path + 1, path + strlen(path), &work);
}

bool path_pattern_match_part_counted(const char *pattern, const char *path, size_t len, uint64_t *work)
{
	return match_components(pattern + 1, path + 1, path + len, work);
}

bool path_pattern_match_part(const char *pattern, const char *path, size_t len)
{
	uint64_t work = 0;

	return path_pattern_match_part_counted(pattern, path, len, &work);
}

/* Component by component, as long as there is no "**": from there on the rest of both may be anything. */
bool path_pattern_concerns_below(const char *pattern, const char *folder)
{
	const char *p = pattern + 1, *f = folder + 1;

	while (*p) {
		size_t n = component(p), m = component(f);

		if (is_any_depth(p, n) || *f == '\0')
			return true;
		if (!path_pattern_match_name(p, n, f, m))
			return false;
		p += n + (p[n] == '/');
		f += m + (f[m] == '/');
	}
	return false;
}

unsigned path_pattern_depth_counted(const char *pattern, const char *path, uint64_t *work)
{
	unsigned depth = 0, found = 0;

	for (const char *at = path; at[0] == '/' && at[1] != '\0';) {
		const char *end = at + 1 + component(at + 1);

		depth++;
		if (match_components(pattern + 1, path + 1, end, work))
			found = depth;
		at = end;
	}
	return found;
}

unsigned path_pattern_depth(const char *pattern, const char *path)
{
	uint64_t work = 0;

	return path_pattern_depth_counted(pattern, path, &work);
}
