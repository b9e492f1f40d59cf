#include "daemon/linux/watch/launch_watch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "daemon/linux/watch/launch_watch.h"

#define FANOTIFY_EVENTS (FAN_CREATE | FAN_MOVED_TO | FAN_MOVED_FROM | FAN_DELETE | FAN_ONDIR)
#define INOTIFY_EVENTS (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW)

uint64_t launch_watch_folder_key(const void *fsid, size_t fsid_len, int32_t type, const void *handle, size_t len)
{
	uint64_t h = (14695981039346656037ULL ^ (uint32_t)type) * 1099511628211ULL;

	for (size_t i = 0; i < fsid_len; i++)
		h = (h ^ ((const unsigned char *)fsid)[i]) * 1099511628211ULL;
	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const unsigned char *)handle)[i]) * 1099511628211ULL;
	return h;
}

static int key_of(const char *path, uint64_t *ret)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	struct statfs fs;
	int mount;

	if (name_to_handle_at(AT_FDCWD, path, &h.handle, &mount, 0) < 0 || statfs(path, &fs) < 0)
		return -errno;
	*ret = launch_watch_folder_key(&fs.f_fsid, sizeof(fs.f_fsid), h.handle.handle_type, h.handle.f_handle,
				       h.handle.handle_bytes);
	return 0;
}

/* Not on every file system; and in no event is a file system that has no number of its own. */
static int mark_by_handle(struct launch_watch_folders *f, struct launch_watch_folder *folder)
{
	const unsigned flags = FAN_MARK_ADD | FAN_MARK_ONLYDIR | FAN_MARK_DONT_FOLLOW;
	int r;

	if (f->group < 0)
		return -EOPNOTSUPP;
	r = key_of(folder->path, &folder->key);
	if (r < 0)
		return r;
	folder->by_handle = true;
	return fanotify_mark(f->group, flags, FANOTIFY_EVENTS, AT_FDCWD, folder->path) < 0 ? -errno : 0;
}

static int mark(struct launch_watch_folders *f, struct launch_watch_folder *folder)
{
	int r = mark_by_handle(f, folder);

	if (r == 0 || f->inotify < 0)
		return r;
	folder->by_handle = false;
	r = inotify_add_watch(f->inotify, folder->path, INOTIFY_EVENTS);
	if (r < 0)
		return -errno;
	folder->key = (uint64_t)r;
	return 0;
}

static bool is_plain(const struct launch_watch_folder *folder)
{
	return !folder->through && !folder->about;
}

static size_t find_place(struct launch_watch_folders *f, const char *path, bool *ret_known)
{
	size_t place = f->n;

	for (size_t i = 0; i < f->n; i++) {
		if (!f->items[i].path)
			place = place == f->n ? i : place;
		else if (strcmp(f->items[i].path, path) == 0)
			*ret_known = true;
	}
	return place;
}

int launch_watch_folder_add(struct launch_watch_folders *f, const struct launch_watch_folder *folder)
{
	struct launch_watch_folder added = *folder;
	bool known = false;
	size_t place = find_place(f, folder->path, &known);
	int r;

	if (known)
		return -EEXIST;
	if (place == LAUNCH_WATCH_MAX || f->marks == LAUNCH_WATCH_MARKS ||
	    (is_plain(folder) && f->n_plain == LAUNCH_WATCH_FOLDERS))
		return -ENOSPC;
	added.path = strdup(folder->path);
	if (!added.path)
		return -ENOMEM;
	r = mark(f, &added);
	if (r < 0) {
		free(added.path);
		return r;
	}
	f->marks++;
	f->n_plain += is_plain(&added);
	f->items[place] = added;
	if (place == f->n)
		f->n++;
	return (int)place;
}

int launch_watch_folder_add_root(struct launch_watch_folders *f, const char *path)
{
	const struct launch_watch_folder folder = { .path = (char *)path };
	int r = launch_watch_folder_add(f, &folder);

	if (r >= 0 || r == -EEXIST || r == -ENOSPC || r == -ENOTDIR || f->inotify >= 0)
		return r;
	f->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return launch_watch_folder_add(f, &folder);
}

/* What lies in a folder that a protection goes through, and what is in no folder that is near the top, cannot be about
 * a tool that somebody calls there. */
bool launch_watch_folder_is_worth(const struct launch_watch_folder *above, const struct launch_watch_folder *folder,
				  const char *name)
{
	if (folder->through || folder->about)
		return true;
	return !above->through && !above->about && folder->depth <= LAUNCH_WATCH_DEPTH &&
	       strcmp(name, "node_modules") != 0;
}

int launch_watch_folder_by_key(const struct launch_watch_folders *f, uint64_t key, bool by_handle, int after)
{
	for (size_t i = (size_t)after + 1; i < f->n; i++)
		if (f->items[i].key == key && f->items[i].path && f->items[i].by_handle == by_handle)
			return (int)i;
	return -1;
}

void launch_watch_folder_remove(struct launch_watch_folders *f, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < f->n; i++) {
		struct launch_watch_folder *at = &f->items[i];

		if (!at->path || strncmp(at->path, path, len) != 0 || (at->path[len] != '\0' && at->path[len] != '/'))
			continue;
		/* The kernel forgets the mark with the folder; that of one that was only moved stays, and is passed
		 * over. */
		if (!at->by_handle)
			inotify_rm_watch(f->inotify, (int)at->key);
		f->n_plain -= is_plain(at);
		free(at->path);
		*at = (struct launch_watch_folder){ 0 };
	}
}

bool launch_watch_folder_entry(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}
