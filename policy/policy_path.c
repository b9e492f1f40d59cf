#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/limits.h"
#include "json/printable.h"
#include "policy/policy.h"

static int refuse(struct error *e, const char *text, const char *remedy, const char *what)
{
	return error_set(e, ERROR_POLICY, EINVAL, "", remedy, "The path \"%s\" %s.", json_printable(text).text, what);
}

static int too_long(struct error *e, const char *text)
{
	return error_set(e, ERROR_POLICY, ENAMETOOLONG, "", NULL, "The path \"%s\" is too long.",
			 json_printable(text).text);
}

/* Appends the components of path, without empty ones and "."; -EINVAL at "..", -ENAMETOOLONG. */
static int append_components(char *ret, size_t size, size_t *len, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && memcmp(path, "..", 2) == 0)
			return -EINVAL;
		if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (*len + n + 2 > size)
				return -ENAMETOOLONG;
			ret[(*len)++] = '/';
			memcpy(ret + *len, path, n);
			*len += n;
		}
		path += n;
		path += *path == '/';
	}
	ret[*len] = '\0';
	return 0;
}

/* The folder that text starts from and the rest below it; NULL: text is in no accepted form. */
static const char *split_base(const char *text, const char *home, const char *project, const char **ret_rest)
{
	*ret_rest = text + (text[0] != '\0');
	if (text[0] == '/')
		return "";
	if (text[0] != '\0' && text[1] != '\0' && text[1] != '/')
		return NULL;
	if (text[0] == '~')
		return home && home[0] == '/' ? home : NULL;
	return text[0] == '.' && project && project[0] == '/' ? project : NULL;
}

int policy_path_expand(const char *text, const char *home, const char *project, char *ret, size_t ret_size,
		       struct error *e)
{
	static const char forms[] = "Write an absolute path, \"~/...\" or \"./...\" (below the project).";
	char path[LIMIT_PATH];
	const char *rest, *base = split_base(text, home, project, &rest);
	size_t len = 0;
	int r;

	if (text[0] == '\0')
		return error_set(e, ERROR_POLICY, EINVAL, "", forms, "The path is empty.");
	if (strpbrk(text, "*?["))
		return refuse(e, text, "Name the folder that holds the files.",
			      "is a pattern, and this version takes none");
	if (!base)
		return refuse(e, text, forms, "is relative");
	r = append_components(path, sizeof(path), &len, base);
	if (r == 0)
		r = append_components(path, sizeof(path), &len, rest);
	if (r == -ENAMETOOLONG || len + 1 > ret_size)
		return too_long(e, text);
	if (r < 0)
		return refuse(e, text, forms, "holds \"..\"");
	if (len == 0)
		return refuse(e, text, "Name the folders that are needed.", "is the whole machine");
	memcpy(ret, path, len + 1);
	return 0;
}
