/* Which pattern of paths a filesystem rule means. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/limits.h"
#include "json/printable.h"
#include "policy/policy.h"
#include "view/path_pattern.h"

/* NAME_MAX: no file has a longer name, so such a rule would match nothing. */
#define NAME_LIMIT 255

static const char forms[] = "Write an absolute path, \"~/...\" or \"./...\" (below the project).";

static int refuse(struct error *e, const char *text, const char *remedy, const char *what)
{
	return error_set(e, ERROR_POLICY, EINVAL, "", remedy, "The path \"%s\" %s.", json_printable(text).text, what);
}

struct pattern {
	char *text;
	size_t len;
	size_t size;
};

static int put(struct pattern *p, const char *bytes, size_t n)
{
	if (p->len + n + 1 > p->size)
		return -ENAMETOOLONG;
	memcpy(p->text + p->len, bytes, n);
	p->len += n;
	p->text[p->len] = '\0';
	return 0;
}

static int put_byte(struct pattern *p, char c, bool plain)
{
	const char escaped[] = { '\\', c };
	bool special = plain && (c == '*' || c == '?' || c == '[' || c == '\\');

	return special ? put(p, escaped, 2) : put(p, &c, 1);
}

/* What one part of a path stands for, in the one form that it has: no needless backslash, none before an odd "[". */
static int put_part(struct pattern *p, const char *part, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *set_end = NULL;
		int r;

		if (part[i] == '[') {
			size_t first = i + 1 + (i + 1 < n && part[i + 1] == '!');

			set_end = first + 1 < n ? memchr(part + first + 1, ']', n - first - 1) : NULL;
		}
		if (set_end) {
			r = put(p, part + i, (size_t)(set_end + 1 - (part + i)));
			i = (size_t)(set_end - part);
		} else if (part[i] == '\\') {
			if (++i == n)
				return -EILSEQ;
			r = put_byte(p, part[i], true);
		} else {
			r = put_byte(p, part[i], part[i] == '[');
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_part(const char *part, const char *text)
{
	return strcmp(part, text) == 0;
}

/* -E2BIG: a name that no file can have. */
static int check_name(const char *part)
{
	char name[LIMIT_PATH];
	int r = path_pattern_unescape(part, name, sizeof(name));

	if (is_part(part, "."))
		return 0;
	if (is_part(part, ".."))
		return -EINVAL;
	return r == 0 && strlen(name) > NAME_LIMIT ? -E2BIG : 1;
}

/* Appends the parts of path, without empty ones and ".". plain: all bytes stand for themselves. */
static int put_parts(struct pattern *p, const char *path, bool plain)
{
	while (*path) {
		size_t n = strcspn(path, "/"), before = p->len;
		int r = put(p, "/", 1);

		for (size_t i = 0; plain && r == 0 && i < n; i++)
			r = put_byte(p, path[i], true);
		if (!plain && r == 0)
			r = put_part(p, path, n);
		if (r < 0)
			return r;
		r = n > 0 ? check_name(p->text + before + 1) : 0;
		if (r < 0)
			return r;
		/* "." says nothing, nor does a "**" after another. */
		if (r == 0 ||
		    (before >= 3 && is_part(p->text + before, "/**") && is_part(p->text + before - 3, "/**/**"))) {
			p->len = before;
			p->text[before] = '\0';
		}
		path += n;
		path += *path == '/';
	}
	return 0;
}

/* The folder that text starts from and the rest below it; NULL: text is in no accepted form. */
static const char *split_base(const char *text, const char *home, const char *project, const char **ret_rest)
{
	bool in_project = strncmp(text, "**", 2) == 0 && (text[2] == '/' || text[2] == '\0');

	*ret_rest = in_project ? text : text + (text[0] != '\0');
	if (text[0] == '/')
		return "";
	if (!in_project && text[0] != '\0' && text[1] != '\0' && text[1] != '/')
		return NULL;
	if (text[0] == '~')
		return home && home[0] == '/' ? home : NULL;
	return (in_project || text[0] == '.') && project && project[0] == '/' ? project : NULL;
}

static int refuse_result(struct error *e, const char *text, int r)
{
	switch (r) {
	case -ENAMETOOLONG:
		return error_set(e, ERROR_POLICY, ENAMETOOLONG, "", NULL, "The path \"%s\" is too long.",
				 json_printable(text).text);
	case -EILSEQ:
		return refuse(e, text, "Write \"\\\\\" for a backslash.",
			      "has a backslash at the end of a part, and it stands before the byte that it is about");
	case -E2BIG:
		return refuse(e, text, "Shorten it.", "holds a name of more than 255 bytes, which no file can have");
	default:
		return refuse(e, text, forms, "holds \"..\"");
	}
}

int policy_path_expand(const char *text, const char *home, const char *project, char *ret, size_t ret_size,
		       struct error *e)
{
	char path[LIMIT_PATH];
	struct pattern p = { .text = path, .size = sizeof(path) };
	const char *rest, *base = split_base(text, home, project, &rest);
	int r;

	path[0] = '\0';
	if (text[0] == '\0')
		return error_set(e, ERROR_POLICY, EINVAL, "", forms, "The path is empty.");
	if (!base)
		return refuse(e, text, forms, "is relative");
	r = put_parts(&p, base, true);
	if (r == 0)
		r = put_parts(&p, rest, false);
	while (r == 0 && p.len >= 3 && is_part(path + p.len - 3, "/**"))
		path[p.len -= 3] = '\0';
	if (r == 0 && p.len + 1 > ret_size)
		r = -ENAMETOOLONG;
	if (r < 0)
		return refuse_result(e, text, r);
	if (path_pattern_parts(path) > LIMIT_PATTERN_PARTS)
		return refuse(e, text, "Shorten it.", "has too many parts behind its first wildcard");
	if (p.len == 0)
		return refuse(e, text, "Name the folders that are needed.", "is the whole machine");
	memcpy(ret, path, p.len + 1);
	return 0;
}
