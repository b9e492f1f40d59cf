#include "client/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int own_file_make_folders(const char *file)
{
	_cleanup_free_ char *path = strdup(file);

	if (!path)
		return -ENOMEM;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* The folder, since the file is replaced. */
int own_file_lock(const char *file)
{
	const char *slash = strrchr(file, '/');
	_cleanup_free_ char *folder = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");
	_cleanup_close_ int lock = -1;

	if (!folder)
		return -ENOMEM;
	lock = open(folder[0] ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return -errno;
	return take_fd(&lock);
}

int own_file_replace(const char *file, const void *data, size_t n, mode_t mode)
{
	_cleanup_free_ char *draft = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&draft, "%s.XXXXXX", file) < 0) {
		draft = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(draft, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, data, n);
	if (r == 0 && (fchmod(fd, mode & 0777) < 0 || fsync(fd) < 0 || rename(draft, file) < 0))
		r = -errno;
	if (r < 0)
		(void)unlink(draft);
	return r;
}
