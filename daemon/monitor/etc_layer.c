#include "daemon/monitor/etc_layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/monitor/tree_remove.h"
#include "daemon/wire/netns.h"
#include "view/etc_hidden.h"

/* Deeper than any /etc; what lies below is hidden as a whole. */
#define DEPTH_MAX 12

static const struct {
	const char *name;
	const char *text;
} written[] = {
	{ "resolv.conf", "nameserver " NETNS_RESOLVER_V4 "\nnameserver " NETNS_RESOLVER_V6 "\noptions edns0\n" },
	{ "hosts", "127.0.0.1 localhost isod\n::1 localhost ip6-localhost ip6-loopback\n" },
	{ "hostname", "isod\n" },
	/* Modules that ask services of the host (sss, ldap, mdns, resolve) find none of them in here. */
	{ "nsswitch.conf", "passwd: files altfiles\ngroup: files altfiles\nshadow: files\ngshadow: files\n"
			   "hosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n"
			   "ethers: files\nrpc: files\nnetgroup: files\n" },
};

/* What says that the layer is out of date: something new in a folder, another mode. */
#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR)

struct walk {
	int layer;           /* top of what is built */
	int watch;           /* inotify, or -1 */
	char path[PATH_MAX]; /* below /etc, of the entry at hand */
};

/* Readable for everybody, folders to be entered too. The mode of a link says nothing. */
static bool is_public(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return true;
	if (S_ISDIR(st->st_mode))
		return (st->st_mode & 05) == 05;
	return S_ISREG(st->st_mode) && st->st_mode & 04;
}

/* The folders above the path at hand, as the host has them: in an overlay the upper one's mode and owner count. */
static int make_parents(struct walk *w, int etc)
{
	for (char *slash = strchr(w->path, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct stat st;
		int r = 0;

		*slash = '\0';
		if (mkdirat(w->layer, w->path, 0700) < 0)
			r = errno == EEXIST ? 0 : -errno;
		else if (fstatat(etc, w->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			 fchownat(w->layer, w->path, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
			 fchmodat(w->layer, w->path, st.st_mode & 07777, 0) < 0)
			r = -errno;
		*slash = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

static int hide(struct walk *w, int etc)
{
	int r = make_parents(w, etc);

	if (r < 0)
		return r;
	/* Overlayfs takes a character device 0:0 as "nothing here". */
	return mknodat(w->layer, w->path, S_IFCHR, 0) < 0 && errno != EEXIST ? -errno : 0;
}

static int walk_folder(struct walk *w, int etc, int folder, size_t len, unsigned depth);

static int walk_entry(struct walk *w, int etc, int folder, size_t len, unsigned depth, const char *name)
{
	struct stat st;
	int n = snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "", name);
	int fd;

	if (n < 0 || (size_t)n >= sizeof(w->path) - len)
		return -ENAMETOOLONG;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (etc_hidden_is(w->path) || !is_public(&st) || (S_ISDIR(st.st_mode) && depth == DEPTH_MAX))
		return hide(w, etc);
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(folder, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return walk_folder(w, etc, fd, len + n, depth + 1);
}

static void watch_folder(struct walk *w, int folder)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	/* As many as one user may have: without, a layer is taken for out of date at once. */
	if (w->watch >= 0 && inotify_add_watch(w->watch, path, WATCHED) < 0)
		w->watch = fd_close(w->watch);
}

/* Takes folder. Watched before it is read, so that nothing is made in between unseen. */
static int walk_folder(struct walk *w, int etc, int folder, size_t len, unsigned depth)
{
	_cleanup_closedir_ DIR *d = fdopendir(folder);
	const struct dirent *entry;
	int r = 0;

	if (!d) {
		r = -errno;
		fd_close(folder);
		return r;
	}
	watch_folder(w, dirfd(d));
	while (r == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = walk_entry(w, etc, dirfd(d), len, depth, entry->d_name);
	return r;
}

/*
 * A name of the list that is not there yet. Where a folder above it is not there either, that one is hidden: it is seen
 * with the next layer, which hides what is secret in it.
 */
static int hide_in_advance(struct walk *w, int etc, const char *name)
{
	struct stat st;
	size_t len = strlen(name);

	memcpy(w->path, name, len + 1);
	for (char *slash = strchr(w->path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (fstatat(etc, w->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT ? hide(w, etc) : -errno;
		/* A link leads elsewhere; a folder for some only is hidden by the walk. */
		if (!S_ISDIR(st.st_mode) || !is_public(&st))
			return 0;
		*slash = '/';
	}
	return hide(w, etc);
}

static int write_file(int layer, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(layer, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0)
		return -errno;
	return fd_write_full(fd, text, strlen(text));
}

int etc_layer_build(int parent, const char *name, int etc, int *watch)
{
	_cleanup_free_ struct walk *w = calloc(1, sizeof(*w));
	_cleanup_close_ int layer = -1;
	int folder, r;

	if (!w)
		return -ENOMEM;
	r = tree_remove(parent, name);
	if (r < 0)
		return r;
	if (mkdirat(parent, name, 0755) < 0)
		return -errno;
	layer = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (layer < 0 || fchmodat(parent, name, 0755, 0) < 0)
		return -errno;
	w->layer = layer;
	w->watch = watch ? *watch : -1;
	/* First, so that a file of the host by such a name is not hidden where only some may read it. */
	for (size_t i = 0; i < ARRAY_SIZE(written) && r == 0; i++)
		r = write_file(layer, written[i].name, written[i].text);
	if (r < 0)
		return r;
	folder = openat(etc, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	r = folder < 0 ? -errno : walk_folder(w, etc, folder, 0, 0);
	for (size_t i = 0; i < n_etc_hidden_names && r == 0; i++)
		r = hide_in_advance(w, etc, etc_hidden_names[i]);
	if (watch)
		*watch = w->watch;
	return r < 0 ? r : take_fd(&layer);
}
