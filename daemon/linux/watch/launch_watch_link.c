#include "daemon/linux/watch/launch_watch_link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

static struct launch_watch_link *by_path(struct launch_watch_links *l, const char *path)
{
	for (size_t i = 0; i < LAUNCH_WATCH_LINKS; i++)
		if (l->items[i].path && strcmp(l->items[i].path, path) == 0)
			return &l->items[i];
	return NULL;
}

unsigned launch_watch_link_add(struct launch_watch_links *l, const char *path)
{
	struct launch_watch_link *place = by_path(l, path);
	struct stat st;
	char *copy;

	if (!is_file(path, &st))
		return 0;
	if (!place) {
		copy = strdup(path);
		if (!copy)
			return (unsigned)st.st_nlink;
		place = &l->items[l->n++ % LAUNCH_WATCH_LINKS];
		free(place->path);
		place->path = copy;
	}
	place->device = st.st_dev;
	place->inode = st.st_ino;
	return (unsigned)st.st_nlink;
}

void launch_watch_link_remove(struct launch_watch_links *l, const char *path)
{
	struct launch_watch_link *place = l->n > 0 ? by_path(l, path) : NULL;

	if (!place)
		return;
	free(place->path);
	*place = (struct launch_watch_link){ 0 };
}

const char *launch_watch_link_find(const struct launch_watch_links *l, const char *path)
{
	struct stat st;

	if (l->n == 0 || !is_file(path, &st) || st.st_nlink < 2)
		return NULL;
	for (size_t i = 0; i < LAUNCH_WATCH_LINKS; i++)
		if (l->items[i].path && l->items[i].inode == st.st_ino && l->items[i].device == st.st_dev)
			return l->items[i].path;
	return NULL;
}
