#include "daemon/control/plan/view_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/wire/plan.h"
#include "view/path_pattern.h"

/* As many as the kernel follows on one way. */
#define FOLLOW_MAX 40

void view_links_done(struct view_links *l)
{
	free(l->items);
	string_list_done(&l->texts);
	*l = (struct view_links)VIEW_LINKS_INIT;
}

/* path without its last component, and with those of text: without empty ones and "."; ".." only at its beginning,
 * since it leads elsewhere behind another link. */
static bool target_of(const char *path, const char *content, char ret[LIMIT_PATH])
{
	size_t len = content[0] == '/' ? 0 : (size_t)(strrchr(path, '/') - path);
	bool named = content[0] == '/';

	memcpy(ret, path, len);
	for (const char *at = content; *at;) {
		size_t n = strcspn(at, "/");

		if (n == 2 && memcmp(at, "..", 2) == 0) {
			if (named)
				return false;
			while (len > 0 && ret[--len] != '/')
				;
		} else if (n > 0 && !(n == 1 && at[0] == '.')) {
			if (len + n + 2 > LIMIT_PATH)
				return false;
			ret[len++] = '/';
			memcpy(ret + len, at, n);
			len += n;
			named = true;
		}
		at += n;
		at += *at == '/';
	}
	ret[len] = '\0';
	return len > 0;
}

static int add(struct view_links *l, const char *path, const char *content)
{
	char target[LIMIT_PATH], pattern[LIMIT_PATH];
	struct view_link *link = &l->items[l->count];

	if (!plan_path_is_clean(path) || path[1] == '\0' || strlen(content) >= LIMIT_PATH ||
	    !target_of(path, content, target))
		return 0;
	if (path_pattern_escape(path, pattern, sizeof(pattern)) < 0)
		return 0;
	link->len = strlen(pattern);
	link->pattern = string_list_add(&l->texts, pattern);
	if (path_pattern_escape(target, pattern, sizeof(pattern)) < 0)
		return 0;
	link->target = string_list_add(&l->texts, pattern);
	if (!link->pattern || !link->target)
		return -ENOMEM;
	l->count++;
	return 0;
}

static const struct view_link *find(const struct view_links *l, const char *pattern)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct view_link *link = &l->items[i];

		if (strncmp(pattern, link->pattern, link->len) == 0 &&
		    (pattern[link->len] == '/' || pattern[link->len] == '\0'))
			return link;
	}
	return NULL;
}

int view_links_resolve(const struct view_links *l, const char *pattern, struct string_list *into, const char **ret)
{
	const struct view_link *link = find(l, pattern);
	char texts[2][LIMIT_PATH];
	const char *at = pattern;

	*ret = pattern;
	if (!link)
		return 0;
	/* Only the end of the way is kept: each of thousands of rules may have forty links on it. */
	for (int i = 0; link; i++) {
		char *next = texts[i % 2];

		if (i == FOLLOW_MAX)
			return -ELOOP;
		if (snprintf(next, LIMIT_PATH, "%s%s", link->target, at + link->len) >= LIMIT_PATH)
			return -ENAMETOOLONG;
		at = next;
		link = find(l, at);
	}
	*ret = string_list_add(into, at);
	return *ret ? 0 : -ENOMEM;
}

/* A link to a link leads where that one leads, so that no rule has to go the whole way. One that ends nowhere stays as
 * it is: the rules on it are refused. */
static int join(struct view_links *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *end;
		int r = view_links_resolve(l, l->items[i].target, &l->texts, &end);

		if (r == -ENOMEM)
			return r;
		if (r == 0)
			l->items[i].target = end;
	}
	return 0;
}

static bool leads_to(const char *link, const char *path)
{
	size_t n = strlen(link);

	return strncmp(path, link, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int view_links_build(const struct view_probe *probe, const struct json_objects *links, const char *cwd,
		     struct view_links *ret)
{
	const struct schema_link *given = links->items;
	int r = 0;

	ret->items = calloc(VIEW_PROBE_ROOTS + links->count, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (int i = 0; i < VIEW_PROBE_ROOTS && r == 0; i++)
		if (probe->roots[i].exists && probe->roots[i].link[0] != '\0')
			r = add(ret, probe->roots[i].path, probe->roots[i].link);
	for (size_t i = 0; i < links->count && r == 0; i++)
		if (!leads_to(given[i].path, cwd))
			r = add(ret, given[i].path, given[i].target);
	return r < 0 ? r : join(ret);
}

int view_links_resolve_path(const struct view_links *l, const char *path, struct string_list *into, const char **ret)
{
	char text[LIMIT_PATH];
	const char *resolved = text;
	int r = path_pattern_escape(path, text, sizeof(text));

	*ret = path;
	if (r == 0)
		r = view_links_resolve(l, text, into, &resolved);
	if (r < 0 || resolved == text)
		return r;
	r = path_pattern_unescape(resolved, text, sizeof(text));
	if (r < 0)
		return r;
	*ret = string_list_add(into, text);
	return *ret ? 0 : -ENOMEM;
}
