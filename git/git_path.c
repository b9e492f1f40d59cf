#include "git/git_path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

bool git_path_is_within(const char *path, const char *parent)
{
	size_t n = strlen(parent);

	if (strcmp(parent, "/") == 0)
		return path[0] == '/';
	return strncmp(path, parent, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Appends the components of text to the clean path in ret, whose length is len ("" stands for "/"). */
static int append(char *ret, size_t size, size_t len, const char *text)
{
	while (*text) {
		size_t n;

		text += strspn(text, "/");
		n = strcspn(text, "/");
		if (n == 2 && text[0] == '.' && text[1] == '.') {
			while (len > 0 && ret[--len] != '/')
				;
		} else if (n > 0 && !(n == 1 && text[0] == '.')) {
			if (len + 1 + n >= size)
				return -ENAMETOOLONG;
			ret[len++] = '/';
			memcpy(ret + len, text, n);
			len += n;
		}
		text += n;
	}
	if (len == 0)
		ret[len++] = '/';
	ret[len] = '\0';
	return 0;
}

int git_path_join(const char *base, const char *text, char *ret, size_t ret_size)
{
	char path[PATH_MAX];
	size_t len = 0;

	if (text[0] == '\0')
		return -EINVAL;
	if (text[0] != '/' && strcmp(base, "/") != 0) {
		len = strlen(base);
		if (len >= sizeof(path))
			return -ENAMETOOLONG;
		memcpy(path, base, len);
	}
	if (append(path, sizeof(path), len, text) < 0 || strlen(path) >= ret_size)
		return -ENAMETOOLONG;
	memcpy(ret, path, strlen(path) + 1);
	return 0;
}

void git_path_parent(const char *path, char *ret, size_t ret_size)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash && slash != path ? (size_t)(slash - path) : 1;

	if (len >= ret_size)
		len = ret_size - 1;
	memmove(ret, path, len);
	ret[len] = '\0';
}

const char *git_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static unsigned char folded(char c, bool fold)
{
	return (unsigned char)(fold && c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* pattern stands behind "[". Its end goes to *ret; NULL there: no set, the bracket stands for itself. */
static bool set_matches(const char *pattern, unsigned char byte, bool fold, const char **ret)
{
	bool negated = *pattern == '!' || *pattern == '^', found = false, first = true;

	*ret = NULL;
	for (pattern += negated; *pattern && (*pattern != ']' || first); pattern++, first = false) {
		unsigned char from, to;

		if (*pattern == '\\' && pattern[1])
			pattern++;
		from = folded(*pattern, fold);
		to = from;
		if (pattern[1] == '-' && pattern[2] && pattern[2] != ']') {
			pattern += 2;
			if (*pattern == '\\' && pattern[1])
				pattern++;
			to = folded(*pattern, fold);
		}
		found = found || (byte >= from && byte <= to);
	}
	if (*pattern == ']')
		*ret = pattern + 1;
	return found != negated;
}

/* One element of the pattern that is no star, against one byte; where the pattern goes on. */
static bool one_matches(const char **pattern, char c, bool fold)
{
	const char *p = *pattern, *end;
	bool matches;

	*pattern = p + 1;
	if (*p == '?')
		return c != '/';
	if (*p == '[') {
		matches = set_matches(p + 1, folded(c, fold), fold, &end);
		if (end) {
			*pattern = end;
			return matches && c != '/';
		}
	}
	if (*p == '\\' && p[1]) {
		p++;
		*pattern = p + 1;
	}
	return folded(*p, fold) == folded(c, fold);
}

/* A "**" here is a whole component. */
static bool is_deep(const char *pattern, const char *p)
{
	return p[0] == '*' && p[1] == '*' && (p == pattern || p[-1] == '/') && (p[2] == '/' || p[2] == '\0');
}

/*
 * The usual backtracking to the last star, with two stars to go back to: one within the component, one over components.
 * A later "**" makes every earlier star's choice final, as does a later "*" within its component.
 */
bool git_path_matches(const char *pattern, const char *text, bool fold)
{
	const char *p = pattern, *t = text;
	const char *star = NULL, *star_text = NULL, *deep = NULL, *deep_text = NULL;

	for (;;) {
		if (is_deep(pattern, p)) {
			if (p[2] == '\0')
				return true;
			deep = p + 3;
			deep_text = t;
			star = NULL;
			p = deep;
			continue;
		}
		if (*p == '*') {
			while (*p == '*')
				p++;
			star = p;
			star_text = t;
			continue;
		}
		if (*p == '\0' && *t == '\0')
			return true;
		if (*p != '\0' && *t != '\0' && one_matches(&p, *t, fold)) {
			t++;
			continue;
		}
		if (star && *star_text != '\0' && *star_text != '/') {
			p = star;
			t = ++star_text;
			continue;
		}
		if (!deep || !(deep_text = strchr(deep_text, '/')))
			return false;
		t = ++deep_text;
		p = deep;
		star = NULL;
	}
}
