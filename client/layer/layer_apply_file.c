/* One entry of a layer into the project. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/layer/layer_apply.h"
#include "client/layer/layer_path.h"

#define NS_PER_S 1000000000LL
#define CHUNK (128U << 10)
/* The only name of ours in the project, for as long as one entry takes. The same at every try, so that what a killed
 * one left is met again. */
#define TEMPORARY ".isod-apply-%s"
#define TEMPORARY_SIZE LAYER_TEMPORARY_SIZE

void layer_apply_temporary(const struct layer *l, char ret[LAYER_TEMPORARY_SIZE])
{
	snprintf(ret, LAYER_TEMPORARY_SIZE, TEMPORARY, l->id);
}

static void times_of(const struct change *c, struct timespec ret[2])
{
	ret[0] = (struct timespec){ .tv_nsec = UTIME_NOW };
	ret[1] = (struct timespec){ .tv_sec = c->mtime_ns / NS_PER_S, .tv_nsec = c->mtime_ns % NS_PER_S };
	if (ret[1].tv_nsec < 0)
		ret[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
}

static int copy(int from, int to)
{
	_cleanup_free_ char *data = NULL;
	ssize_t n;

	/* Shares the blocks where the file system can, and stays in the kernel where it cannot. */
	while ((n = copy_file_range(from, NULL, to, NULL, 1U << 30, 0)) > 0)
		;
	if (n == 0)
		return 0;
	if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
		return -errno;
	data = malloc(CHUNK);
	if (!data)
		return -ENOMEM;
	while ((n = fd_read_full(from, data, CHUNK)) > 0) {
		int r = fd_write_full(to, data, (size_t)n);

		if (r < 0)
			return r;
	}
	return (int)n;
}

static int write_file(const struct layer *l, const struct change *c, int folder, const char *temporary)
{
	_cleanup_close_ int from = layer_path_open(l->upper, c->path, O_RDONLY), to = -1;
	struct timespec times[2];
	struct stat st;
	int r;

	if (from < 0)
		return from;
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return -EBADF;
	to = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	r = copy(from, to);
	times_of(c, times);
	if (r == 0 && (fchmod(to, c->mode & CHANGE_MODE_BITS) < 0 || futimens(to, times) < 0))
		r = -errno;
	return r;
}

static int write_link(const struct layer *l, const struct change *c, int folder, const char *temporary)
{
	_cleanup_close_ int from = layer_path_open(l->upper, c->path, O_PATH);
	struct timespec times[2];
	char target[LIMIT_PATH];
	ssize_t n = from < 0 ? -1 : readlinkat(from, "", target, sizeof(target) - 1);

	if (n <= 0)
		return from < 0 ? from : n < 0 ? -errno : -EBADF;
	target[n] = '\0';
	/* Decided on by what it was then. */
	if (!(c->flags & CHANGE_LEADS_OUT) && layer_path_leads_out(c->path, target))
		return -EBUSY;
	if (symlinkat(target, folder, temporary) < 0)
		return -errno;
	times_of(c, times);
	(void)utimensat(folder, temporary, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* What is moved away is taken back where it is not what was seen. */
static int check_moved(const struct change *c, int folder, const char *temporary, const char *name, unsigned how)
{
	struct stat st;

	if (fstatat(folder, temporary, &st, AT_SYMLINK_NOFOLLOW) == 0 && change_host_is(&c->host, &st))
		return 0;
	return renameat2(folder, temporary, folder, name, how) < 0 ? -errno : -EBUSY;
}

static bool not_there(int err)
{
	return err == EINVAL || err == ENOSYS || err == EOPNOTSUPP;
}

/* For file systems without the ways below (NFS): looked at, then done; a change in that instant is lost. */
static int place_blindly(const struct change *c, int folder, const char *temporary, const char *name)
{
	struct stat st;
	bool there = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (there != c->host.exists || (there && !change_host_is(&c->host, &st)))
		return -EBUSY;
	return renameat(folder, temporary, folder, name) < 0 ? -errno : 0;
}

/* The temporary file to its place. What was there is looked at only once it cannot be changed under its name. */
static int place(const struct change *c, int folder, const char *temporary, const char *name)
{
	int r;

	if (!c->host.exists || S_ISDIR(c->host.mode)) {
		if (c->host.exists && unlinkat(folder, name, AT_REMOVEDIR) < 0)
			return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR ? -EBUSY : -errno;
		if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno == EEXIST)
			return -EBUSY;
		return not_there(errno) && !c->host.exists ? place_blindly(c, folder, temporary, name) : -errno;
	}
	if (renameat2(folder, temporary, folder, name, RENAME_EXCHANGE) < 0) {
		if (errno == ENOENT)
			return -EBUSY;
		return not_there(errno) ? place_blindly(c, folder, temporary, name) : -errno;
	}
	r = check_moved(c, folder, temporary, name, RENAME_EXCHANGE);
	if (r < 0)
		return r;
	return unlinkat(folder, temporary, 0) < 0 ? -errno : 0;
}

/* Where the caller works, with nothing left under the temporary name. */
static int open_place(const struct layer *l, const struct change *c, const char *temporary, const char **ret_name)
{
	int folder = layer_path_open_parent(l->project_fd, c->path, ret_name);

	if (folder >= 0)
		(void)unlinkat(folder, temporary, 0);
	return folder;
}

int layer_apply_file(const struct layer *l, const struct change *c)
{
	char temporary[TEMPORARY_SIZE];
	_cleanup_close_ int folder = -1;
	const char *name;
	int r;

	layer_apply_temporary(l, temporary);
	folder = open_place(l, c, temporary, &name);
	if (folder < 0)
		return folder;
	r = S_ISLNK(c->mode) ? write_link(l, c, folder, temporary) : write_file(l, c, folder, temporary);
	if (r == 0)
		r = place(c, folder, temporary, name);
	if (r < 0)
		(void)unlinkat(folder, temporary, 0);
	return r;
}

/* Away under the temporary name, looked at there, removed. Folders are only removed empty, which needs no care. */
static int remove_file(const struct change *c, int folder, const char *temporary, const char *name)
{
	struct stat st;
	int r;

	if (renameat2(folder, name, folder, temporary, RENAME_NOREPLACE) < 0) {
		if (errno == ENOENT)
			return 0;
		if (!not_there(errno))
			return -errno;
		if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !change_host_is(&c->host, &st))
			return -EBUSY;
		return unlinkat(folder, name, 0) < 0 ? -errno : 0;
	}
	r = check_moved(c, folder, temporary, name, RENAME_NOREPLACE);
	if (r < 0)
		return r;
	return unlinkat(folder, temporary, 0) < 0 ? -errno : 0;
}

int layer_apply_deletion(const struct layer *l, const struct change *c)
{
	char temporary[TEMPORARY_SIZE];
	_cleanup_close_ int folder = -1;
	const char *name;

	layer_apply_temporary(l, temporary);
	folder = open_place(l, c, temporary, &name);
	if (folder < 0)
		return folder == -ENOENT ? 0 : folder;
	if (!S_ISDIR(c->host.mode))
		return remove_file(c, folder, temporary, name);
	if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR ? -EBUSY : -errno;
}

/* By descriptor, which no rename can turn into another file; O_PATH will do. */
static int chmod_fd(int fd, mode_t mode)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode) < 0 ? -errno : 0;
}

int layer_apply_folder(const struct layer *l, const struct change *c)
{
	char temporary[TEMPORARY_SIZE];
	_cleanup_close_ int folder = -1, made = -1;
	mode_t mode = c->mode & CHANGE_MODE_BITS;
	const char *name;
	int r = 0;

	layer_apply_temporary(l, temporary);
	folder = open_place(l, c, temporary, &name);
	if (folder < 0)
		return folder;
	if (c->host.exists)
		r = remove_file(c, folder, temporary, name);
	if (r < 0)
		return r;
	/* Filled before it gets a mode that forbids that; never more open than it will be. */
	if (mkdirat(folder, name, mode | 0700) < 0)
		return errno == EEXIST ? -EBUSY : -errno;
	made = layer_path_open(folder, name, O_PATH | O_DIRECTORY);
	return made < 0 ? made : chmod_fd(made, mode | 0700);
}

static int chmod_path(const struct layer *l, const struct change *c, bool check)
{
	_cleanup_close_ int fd = layer_path_open(l->project_fd, c->path, O_PATH);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) || (check && !change_host_is(&c->host, &st)))
		return -EBUSY;
	return chmod_fd(fd, c->mode & CHANGE_MODE_BITS);
}

int layer_apply_mode(const struct layer *l, const struct change *c)
{
	return chmod_path(l, c, true);
}

int layer_apply_folder_end(const struct layer *l, const struct change *c)
{
	_cleanup_close_ int fd = layer_path_open(l->project_fd, c->path, O_RDONLY | O_DIRECTORY);
	struct timespec times[2];
	int r = 0;

	if (fd < 0)
		return fd;
	times_of(c, times);
	if (futimens(fd, times) < 0)
		r = -errno;
	if (r == 0 && (c->mode & 0700) != 0700)
		r = chmod_path(l, c, false);
	return r;
}
