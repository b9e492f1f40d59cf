#include "daemon/monitor/tree_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Names that no launcher or program of a session uses for long: they are given only here, after the session's end. */
#define HOISTED_FORMAT ".hoisted-%llu"

static DIR *open_dir(int parent, const char *name)
{
	int fd = openat(parent, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		fd_close(fd);
	return d;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Moves from/name up into top under a name not in use. Depth costs renames, not stack. */
static int hoist(int from, const char *name, int top, uint64_t *counter)
{
	char fresh[48];
	int r;

	do {
		snprintf(fresh, sizeof(fresh), HOISTED_FORMAT, (unsigned long long)(*counter)++);
		r = renameat2(from, name, top, fresh, RENAME_NOREPLACE);
	} while (r < 0 && errno == EEXIST);
	return r < 0 ? -errno : 0;
}

/* Empties top/name; what is a folder with content in it ends up in top. */
static int flatten(int top, const char *name, uint64_t *counter)
{
	_cleanup_closedir_ DIR *d = open_dir(top, name);
	const struct dirent *entry;
	int r = 0;

	if (!d)
		return -errno;
	while (r == 0 && (entry = readdir(d))) {
		if (is_dot(entry->d_name) || unlinkat(dirfd(d), entry->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			return -errno;
		if (unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		r = hoist(dirfd(d), entry->d_name, top, counter);
	}
	return r;
}

/* One round over top: true in *ret_left where another one is needed. */
static int empty_once(DIR *top, uint64_t *counter, bool *ret_left)
{
	const struct dirent *entry;
	int r;

	*ret_left = false;
	rewinddir(top);
	while ((entry = readdir(top))) {
		if (is_dot(entry->d_name) || unlinkat(dirfd(top), entry->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			return -errno;
		*ret_left = true;
		if (unlinkat(dirfd(top), entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		r = flatten(dirfd(top), entry->d_name, counter);
		if (r < 0)
			return r;
	}
	return 0;
}

int tree_remove(int parent, const char *name)
{
	_cleanup_closedir_ DIR *top = open_dir(parent, name);
	uint64_t counter = 0;
	bool left = true;

	if (!top && errno == ENOENT)
		return 0;
	if (!top && (errno == ENOTDIR || errno == ELOOP))
		return unlinkat(parent, name, 0) < 0 ? -errno : 0;
	if (!top)
		return -errno;
	while (left) {
		int r = empty_once(top, &counter, &left);

		if (r < 0)
			return r;
	}
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
