#include "git/git_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "git/git_path.h"

static const char *const refusal_texts[GIT_REFUSAL_COUNT] = {
	[GIT_ACCEPTED] = "is what it says",
	[GIT_ABSENT] = "does not exist",
	[GIT_UNREADABLE] = "cannot be read",
	[GIT_NO_POINTER] = "does not hold the path of a git folder",
	[GIT_TOO_LARGE] = "is too large to hold a path",
	[GIT_THROUGH_LINK] = "leads through a symbolic link",
	[GIT_NO_REPOSITORY] = "is no git folder",
	[GIT_NOT_POINTED_BACK] = "does not point back to this work tree",
	[GIT_FOREIGN] = "belongs to another user, or a folder on the way does",
	[GIT_WRITABLE_BY_OTHERS] = "can be written by other users, or a folder on the way can",
	[GIT_FORBIDDEN_PLACE] = "lies where no session may get to",
};

const char *git_refusal_text(enum git_refusal r)
{
	return (unsigned)r < GIT_REFUSAL_COUNT ? refusal_texts[r] : "is refused";
}

/* Below home: what holds secrets, or decides what isod itself does. */
static const char *const secret_folders[] = {
	".ssh",           ".gnupg",
	".aws",           ".azure",
	".kube",          ".docker",
	".config/gcloud", ".config/gh",
	".local/bin",     ".local/share/keyrings",
	".config/isod",   ".config/git",
	".mozilla",       ".config/autostart",
};

static const char *const system_folders[] = { "/bin",  "/boot", "/dev",  "/etc", "/lib", "/lib64",
					      "/proc", "/run",  "/sbin", "/sys", "/usr" };

/* Disks that can be taken out: those of udisks lie below a folder of the user's name. */
static bool is_on_removable_disk(const char *path)
{
	return git_path_is_within(path, "/run/media") && strcmp(path, "/run/media") != 0;
}

bool git_folder_is_forbidden(const char *path, const struct git_user *user)
{
	char folder[PATH_MAX];

	if (strcmp(path, "/") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++)
		if (git_path_is_within(path, system_folders[i]) && !is_on_removable_disk(path))
			return true;
	if (!user->home || strcmp(user->home, "/") == 0)
		return false;
	if (git_path_is_within(user->home, path))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(secret_folders); i++)
		if (git_path_join(user->home, secret_folders[i], folder, sizeof(folder)) < 0 ||
		    git_path_is_within(path, folder) || git_path_is_within(folder, path))
			return true;
	return false;
}

static enum git_refusal refusal_of(int err)
{
	switch (err) {
	case ENOENT:
		return GIT_ABSENT;
	case ELOOP:
		return GIT_THROUGH_LINK;
	default:
		return GIT_UNREADABLE;
	}
}

static bool group_may_write(const struct stat *st, const struct git_user *user)
{
	return (st->st_mode & S_IWGRP) && st->st_gid != user->group;
}

/* The folder itself, or a file of git's. */
static enum git_refusal check_own(const struct stat *st, const struct git_user *user)
{
	if (st->st_uid != user->uid)
		return GIT_FOREIGN;
	if ((st->st_mode & S_IWOTH) || group_may_write(st, user))
		return GIT_WRITABLE_BY_OTHERS;
	return GIT_ACCEPTED;
}

/* A folder on the way: who can write there can put another one in the place of the next. */
static enum git_refusal check_way(const struct stat *st, const struct git_user *user)
{
	if (st->st_uid != 0 && st->st_uid != user->uid)
		return GIT_FOREIGN;
	if (((st->st_mode & S_IWOTH) || group_may_write(st, user)) && !(st->st_mode & S_ISVTX))
		return GIT_WRITABLE_BY_OTHERS;
	return GIT_ACCEPTED;
}

/* A link is told from what is no folder: O_DIRECTORY alone gives ENOTDIR for both. */
static enum git_refusal open_component(int at, const char *name, int flags, int *ret, struct stat *st)
{
	int fd = openat(at, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOTDIR && fstatat(at, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st->st_mode))
		return GIT_THROUGH_LINK;
	if (fd < 0)
		return refusal_of(errno);
	if (fstat(fd, st) < 0) {
		fd_close(fd);
		return GIT_UNREADABLE;
	}
	*ret = fd;
	return GIT_ACCEPTED;
}

/* One step of the walk: *fd becomes the folder name below it. */
static enum git_refusal descend(int *fd, const char *name, bool last, const struct git_user *user)
{
	enum git_refusal r;
	struct stat st;
	int next = -1;

	r = open_component(*fd, name, last ? O_RDONLY : O_PATH, &next, &st);
	if (r == GIT_ACCEPTED && user)
		r = last ? check_own(&st, user) : check_way(&st, user);
	if (r != GIT_ACCEPTED) {
		fd_close(next);
		return r;
	}
	fd_close(*fd);
	*fd = next;
	return GIT_ACCEPTED;
}

/* user NULL: only links are refused. */
static enum git_refusal walk(const char *path, const struct git_user *user, int *ret)
{
	_cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	if (fd < 0 || path[0] != '/' || path[1] == '\0')
		return GIT_UNREADABLE;
	while (*path) {
		size_t n = strcspn(++path, "/");
		enum git_refusal r;

		if (n == 0 || n >= sizeof(name))
			return GIT_UNREADABLE;
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		r = descend(&fd, name, *path == '\0', user);
		if (r != GIT_ACCEPTED)
			return r;
	}
	*ret = take_fd(&fd);
	return GIT_ACCEPTED;
}

enum git_refusal git_folder_open(const char *path, const struct git_user *user, int *ret)
{
	return walk(path, user, ret);
}

enum git_refusal git_folder_open_any(const char *path, int *ret)
{
	return walk(path, NULL, ret);
}

enum git_refusal git_folder_open_below(int at, const char *name, const struct git_user *user, int *ret)
{
	enum git_refusal r;
	struct stat st;
	int fd = -1;

	r = open_component(at, name, O_RDONLY, &fd, &st);
	if (r == GIT_ACCEPTED && user)
		r = check_own(&st, user);
	if (r != GIT_ACCEPTED) {
		fd_close(fd);
		return r;
	}
	*ret = fd;
	return GIT_ACCEPTED;
}

enum git_refusal git_folder_read(int at, const char *name, char *ret, size_t ret_size, size_t *ret_len)
{
	/* O_NONBLOCK: a fifo must not hold us up. */
	_cleanup_close_ int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return refusal_of(errno);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return GIT_UNREADABLE;
	if ((uint64_t)st.st_size >= ret_size)
		return GIT_TOO_LARGE;
	/* It may have grown since. */
	n = fd_read_full(fd, ret, ret_size);
	if (n < 0)
		return GIT_UNREADABLE;
	if ((size_t)n == ret_size)
		return GIT_TOO_LARGE;
	ret[n] = '\0';
	*ret_len = (size_t)n;
	return GIT_ACCEPTED;
}

static bool is_kind(int at, const char *name, mode_t kind)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == kind;
}

bool git_folder_is_repository(int at)
{
	return is_kind(at, "objects", S_IFDIR) && is_kind(at, "refs", S_IFDIR) && is_kind(at, "HEAD", S_IFREG);
}

int git_folder_identify(int fd, struct git_identity *ret)
{
	struct statx stx;
	struct stat st;

	if (fstat(fd, &st) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) < 0)
		return -errno;
	*ret = (struct git_identity){ .device = st.st_dev,
				      .inode = st.st_ino,
				      .born = stx.stx_mask & STATX_BTIME ? stx.stx_btime.tv_sec : 0 };
	return 0;
}

bool git_identity_is_same(const struct git_identity *a, const struct git_identity *b)
{
	if (a->inode != b->inode || a->born != b->born)
		return false;
	return a->device == b->device || a->born != 0;
}
