#include "client/layer/layer_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/layer/layer.h"

#define NS_PER_S 1000000000LL

void changes_done(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	free(c->items);
	*c = (struct changes)CHANGES_INIT;
}

struct change *changes_add(struct changes *c, char *path, enum change_kind kind)
{
	struct change *grown;

	if (path && c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;

		grown = reallocarray(c->items, room, sizeof(*grown));
		if (!grown) {
			free(path);
			return NULL;
		}
		c->items = grown;
		c->room = room;
	}
	if (!path)
		return NULL;
	c->items[c->count] = (struct change){ .path = path, .kind = kind };
	return &c->items[c->count++];
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

struct change *changes_get(const struct changes *c, const char *path)
{
	const struct change key = { .path = (char *)path };

	return c->count ? bsearch(&key, c->items, c->count, sizeof(key), compare) : NULL;
}

void change_host_fill(struct change_host *h, const struct stat *st)
{
	*h = (struct change_host){
		.exists = true,
		.mode = st->st_mode,
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec,
	};
}

bool change_host_is(const struct change_host *h, const struct stat *st)
{
	struct change_host now;

	change_host_fill(&now, st);
	if (!h->exists || now.device != h->device || now.inode != h->inode || now.mode != h->mode)
		return false;
	/* Entries of a folder come and go while it stays the same one. */
	return S_ISDIR(now.mode) || (now.size == h->size && now.mtime_ns == h->mtime_ns);
}

const char *change_kind_name(enum change_kind kind)
{
	static const char *const names[CHANGE_KIND_COUNT] = {
		[CHANGE_DELETED] = "deleted", [CHANGE_MODE] = "mode",         [CHANGE_NEW] = "new",
		[CHANGE_CHANGED] = "changed", [CHANGE_REPLACED] = "replaced", [CHANGE_SPECIAL] = "special",
	};

	return names[kind];
}

int changes_find(const struct layer *l, struct changes *ret, struct error *e)
{
	int r = layer_walk(l, ret, e);

	if (r == 0 && ret->count > 0) {
		qsort(ret->items, ret->count, sizeof(*ret->items), compare);
		r = layer_rename_find(l, ret);
	}
	if (r == 0)
		r = layer_protect_mark(l, ret);
	if (r < 0)
		error_set(e, ERROR_INTERNAL, -r, "layer", "", "The layer cannot be compared with the project: %s.",
			  strerror(-r));
	return r;
}
