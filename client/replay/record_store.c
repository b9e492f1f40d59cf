#include "client/replay/record_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "client/own_file.h"
#include "client/policy/policy_texts.h"

#define SUFFIX ".cast"
/* Of one that has no session's name yet: a start that was cut off leaves it. */
#define DRAFT ".new-"

char *record_store_path(const char *session)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = policy_texts_home();
	char *path;

	if (state && state[0] == '/')
		return asprintf(&path, "%s/isod/recordings/%s" SUFFIX, state, session) < 0 ? NULL : path;
	if (!home)
		return NULL;
	return asprintf(&path, "%s/.local/state/isod/recordings/%s" SUFFIX, home, session) < 0 ? NULL : path;
}

static bool is_recording(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

/* Removes the oldest where there are as many as may be; true where one went. */
static bool remove_oldest(const char *folder)
{
	_cleanup_free_ char *oldest = NULL;
	struct timespec since = { 0 };
	DIR *dir = opendir(folder);
	unsigned n = 0;
	bool removed = false;

	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		struct stat st;

		if (!is_recording(d->d_name) || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		n++;
		if (oldest && (st.st_mtim.tv_sec > since.tv_sec ||
			       (st.st_mtim.tv_sec == since.tv_sec && st.st_mtim.tv_nsec >= since.tv_nsec)))
			continue;
		free(oldest);
		oldest = strdup(d->d_name);
		since = st.st_mtim;
	}
	if (dir && oldest && n >= LIMIT_RECORDINGS_KEPT)
		removed = unlinkat(dirfd(dir), oldest, 0) == 0;
	if (dir)
		closedir(dir);
	return removed;
}

int record_store_new(char **ret_path)
{
	_cleanup_free_ char *path = record_store_path(DRAFT "XXXXXX");
	char *end;
	int r, fd;

	if (!path)
		return -ENOENT;
	r = own_file_make_folders(path);
	if (r < 0)
		return r;
	end = strrchr(path, '/');
	*end = '\0';
	for (unsigned i = 0; i < LIMIT_RECORDINGS_KEPT && remove_oldest(path); i++)
		;
	*end = '/';
	fd = mkostemps(path, strlen(SUFFIX), O_APPEND | O_CLOEXEC); /* mode 0600, but open for reading */
	if (fd < 0)
		return -errno;
	close(fd);
	fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_path = take_ptr(path);
	return fd;
}

void record_store_name(const char *path, const char *session)
{
	_cleanup_free_ char *name = record_store_path(session);

	if (!name || rename(path, name) < 0)
		fprintf(stderr, "isoctl: the recording stays at %s\n", path);
}
