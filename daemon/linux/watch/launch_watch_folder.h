#ifndef ISOD_LINUX_LAUNCH_WATCH_FOLDER_H
#define ISOD_LINUX_LAUNCH_WATCH_FOLDER_H
/* The watched folders: a table, each with its mark in the kernel. A path is looked up by the rights of the caller and
 * never opened here, so it does not matter where an agent has moved it. */
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct launch_watch_folder {
	char *path;     /* NULL: the place is free */
	uint64_t key;   /* hash of its file handle, or the number of its inotify watch */
	unsigned depth; /* below its granted folder */
	bool by_handle;
	bool through; /* a protection goes through it */
	bool about;   /* a protection is about it, or about what is above it */
};

struct launch_watch_folders {
	int group;                         /* fanotify, or -1 */
	int inotify;                       /* or -1 */
	unsigned marks;                    /* ever set */
	size_t n;                          /* places used, free ones among them */
	size_t n_plain;                    /* neither through nor about */
	struct launch_watch_folder *items; /* LAUNCH_WATCH_MAX */
};

/* A copy of *folder with a mark of its own; .key and .by_handle are filled in. Its index, or -errno: -ENOSPC where
 * there is no room for one of its kind, -EEXIST where that path is watched. */
int launch_watch_folder_add(struct launch_watch_folders *f, const struct launch_watch_folder *folder);
/* A granted folder. Where no handles are to be had, inotify serves from then on. As above. */
int launch_watch_folder_add_root(struct launch_watch_folders *f, const char *path);
/* Is folder, which lies in above under that name, to be watched? */
bool launch_watch_folder_is_worth(const struct launch_watch_folder *above, const struct launch_watch_folder *folder,
				  const char *name);
/* The first index after that one (-1: of all), or -1. A folder that two grants show has a path in each, and one key. */
int launch_watch_folder_by_key(const struct launch_watch_folders *f, uint64_t key, bool by_handle, int after);
/* Forgets the folder at path and all below it. */
void launch_watch_folder_remove(struct launch_watch_folders *f, const char *path);

/* What was read from dir is a folder itself. */
bool launch_watch_folder_entry(int dir, const struct dirent *d);

/* FNV-1a over file system and handle, as events and name_to_handle_at(2) both give them. */
uint64_t launch_watch_folder_key(const void *fsid, size_t fsid_len, int32_t type, const void *handle, size_t len);

#endif
