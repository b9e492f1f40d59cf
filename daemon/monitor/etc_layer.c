#include "daemon/monitor/etc_layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/monitor/tree_remove.h"
#include "daemon/wire/netns.h"

/* Deeper than any /etc; what lies below is hidden as a whole. */
#define DEPTH_MAX 12

/* Patterns over the path below /etc, as FNM_PATHNAME. */
static const char *const hidden[] = {
	"shadow",
	"shadow-",
	"gshadow",
	"gshadow-",
	"passwd-",
	"group-",
	"subuid-",
	"subgid-",
	"sudoers",
	"sudoers.d",
	"sudo.conf",
	"security/opasswd",
	"krb5.keytab",
	"isod",
	"ssh/ssh_host_*_key",
	"wireguard",
	"openvpn",
	"NetworkManager/system-connections",
	"ssl/private",
	"pki/tls/private",
	"letsencrypt",
	"ipsec.secrets",
	"ppp/*-secrets",
	"cryptsetup-keys.d",
	"crypttab",
	"docker",
	"kubernetes",
	"rancher",
	"machine-info",
	"wpa_supplicant",
};

static const struct {
	const char *name;
	const char *text;
} written[] = {
	{ "resolv.conf", "nameserver " NETNS_RESOLVER_V4 "\nnameserver " NETNS_RESOLVER_V6 "\noptions edns0\n" },
	{ "hosts", "127.0.0.1 localhost isod\n::1 localhost ip6-localhost ip6-loopback\n" },
	{ "hostname", "isod\n" },
};

struct walk {
	int layer;           /* top of what is built */
	char path[PATH_MAX]; /* below /etc, of the entry at hand */
};

static bool is_listed(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (fnmatch(hidden[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

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
	if (is_listed(w->path) || !is_public(&st) || (S_ISDIR(st.st_mode) && depth == DEPTH_MAX))
		return hide(w, etc);
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(folder, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : walk_folder(w, etc, fd, len + n, depth + 1);
}

/* Takes folder. */
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
	while (r == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = walk_entry(w, etc, dirfd(d), len, depth, entry->d_name);
	return r;
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

int etc_layer_build(int parent, const char *name, int etc)
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
	/* First, so that a file of the host by such a name is not hidden where only some may read it. */
	for (size_t i = 0; i < ARRAY_SIZE(written) && r == 0; i++)
		r = write_file(layer, written[i].name, written[i].text);
	if (r < 0)
		return r;
	folder = openat(etc, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	r = folder < 0 ? -errno : walk_folder(w, etc, folder, 0, 0);
	return r < 0 ? r : take_fd(&layer);
}
