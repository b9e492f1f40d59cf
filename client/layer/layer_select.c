#include "client/layer/layer_select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/layer/layer_path.h"

static bool is_new_folder(const struct change *c)
{
	return (c->kind == CHANGE_NEW || c->kind == CHANGE_REPLACED) && S_ISDIR(c->mode);
}

static void select_above(struct changes *c, const char *path)
{
	char above[LIMIT_PATH];
	char *slash;

	if (strlen(path) >= sizeof(above))
		return;
	memcpy(above, path, strlen(path) + 1);
	while ((slash = strrchr(above, '/'))) {
		struct change *x;

		*slash = '\0';
		x = changes_get(c, above);
		if (x && is_new_folder(x))
			x->flags |= CHANGE_SELECTED;
	}
}

static void select_one(struct changes *c, struct change *x)
{
	struct change *other = x->other ? changes_get(c, x->other) : NULL;

	x->flags |= CHANGE_SELECTED;
	select_above(c, x->path);
	if (other) {
		other->flags |= CHANGE_SELECTED;
		select_above(c, other->path);
	}
}

static size_t select_below(struct changes *c, const char *path)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (!layer_path_below(c->items[i].path, path))
			continue;
		select_one(c, &c->items[i]);
		n++;
	}
	return n;
}

int layer_select(const struct layer *l, struct changes *c, char *const *paths, struct error *e)
{
	_cleanup_free_ char *cwd = getcwd(NULL, 0);

	if (!*paths)
		select_below(c, "");
	for (; *paths; paths++) {
		_cleanup_free_ char *path = layer_path_typed(*paths, cwd ? cwd : "", l->project);

		if (!path)
			return error_set(e, ERROR_INVALID, EINVAL, "path", "Paths are in the project, without \"..\".",
					 "%s is no path of the project %s.", *paths, l->project);
		if (select_below(c, path) == 0)
			return error_set(e, ERROR_INVALID, ENOENT, "path", "`isoctl diff` lists the changes.",
					 "The layer changes nothing at %s.", *paths);
	}
	return 0;
}
