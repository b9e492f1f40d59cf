#include "daemon/linux/view/launch_place.h"

#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"

#define RESOLVE_STRICT (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

int launch_place_mount_id(int fd, uint64_t *ret)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return -errno;
	if (!(stx.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*ret = stx.stx_mnt_id;
	return 0;
}

int launch_place_hold(struct launch *l, int mount)
{
	int fd = fcntl(mount, F_DUPFD_CLOEXEC, 3);
	int *held = l->held;

	if (fd < 0)
		return -errno;
	/* Room for a power of two. */
	if ((l->n_held & (l->n_held - 1)) == 0)
		held = reallocarray(l->held, l->n_held ? 2 * l->n_held : 1, sizeof(*held));
	if (!held) {
		fd_close(fd);
		return -ENOMEM;
	}
	l->held = held;
	l->held[l->n_held++] = fd;
	return 0;
}

void launch_place_release(struct launch *l)
{
	for (size_t i = 0; i < l->n_held; i++)
		fd_close(l->held[i]);
	free(l->held);
	l->held = NULL;
	l->n_held = 0;
}

int launch_place_own(struct launch *l, int fd, bool read_only)
{
	struct launch_own own = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3), .read_only = read_only };
	struct stat st;
	int r;

	if (own.fd < 0)
		return -errno;
	r = fstat(own.fd, &st) < 0 ? -errno : launch_place_mount_id(own.fd, &own.mount_id);
	if (r < 0) {
		fd_close(own.fd);
		return r;
	}
	own.device = st.st_dev;
	own.inode = st.st_ino;
	if (l->n_own == l->own_room) {
		size_t room = l->own_room ? 2 * l->own_room : 64;
		struct launch_own *list = reallocarray(l->own, room, sizeof(*list));

		if (!list) {
			fd_close(own.fd);
			return -ENOMEM;
		}
		l->own = list;
		l->own_room = room;
	}
	l->own[l->n_own++] = own;
	return 0;
}

bool launch_place_is_own(const struct launch *l, int fd)
{
	uint64_t id = 0;

	if (launch_place_mount_id(fd, &id) < 0)
		return false;
	for (size_t i = 0; i < l->n_own; i++)
		if (l->own[i].mount_id == id)
			return true;
	return false;
}

/* The new one belongs to whom its folder belongs: an empty HOME stays all the caller's. */
static int make(int parent, const char *name, bool is_dir)
{
	struct stat st;

	if (fstat(parent, &st) < 0)
		return -errno;
	if ((is_dir ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0444, 0)) < 0)
		return -errno;
	if (st.st_uid == 0)
		return 0;
	return fchownat(parent, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int enter(struct launch *l, int parent, const char *name, bool is_dir, const char *target, struct error *e)
{
	uint64_t flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | (is_dir ? O_DIRECTORY : 0);
	int r = launch_caller_open(l->context, parent, name, flags, RESOLVE_STRICT);

	if (r != -ENOENT)
		return r;
	if (!launch_place_is_own(l, parent))
		return launch_step_fail(e, ENOENT, NULL,
					"%s does not exist, and is not made, since its folder is one of the host.",
					target);
	r = make(parent, name, is_dir);
	return r < 0 ? r : launch_sys_openat2(parent, name, flags, RESOLVE_STRICT);
}

/* Follows path[0..len) from the root, a component at a time. */
static int walk(struct launch *l, const char *target, size_t len, bool is_dir, struct error *e)
{
	_cleanup_close_ int at = launch_sys_openat2(l->root_fd, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_IN_ROOT);
	const char *end = target + len, *name = target;

	if (at < 0)
		return at;
	while (name < end) {
		char component[LIMIT_NAME];
		size_t n = strcspn(++name, "/");
		int next;

		if (n == 0)
			break;
		if (n >= sizeof(component))
			return -ENAMETOOLONG;
		memcpy(component, name, n);
		component[n] = '\0';
		name += n;
		next = enter(l, at, component, is_dir || name < end, target, e);
		if (next < 0)
			return next;
		fd_close(at);
		at = next;
	}
	return take_fd(&at);
}

static int place_error(struct error *e, const char *target, int r)
{
	return launch_step_fail(e, -r, r == -ELOOP ? "Name the path that the link leads to." : NULL,
				"%s cannot be reached in the view: %s.", target, strerror(-r));
}

int launch_place_open(struct launch *l, const char *target, bool is_dir, struct error *e)
{
	struct stat st;
	int r = launch_caller_open(l->context, l->root_fd, target, O_PATH | O_CLOEXEC | O_NOFOLLOW,
				   RESOLVE_IN_ROOT | RESOLVE_STRICT);

	if (r == -ENOENT)
		r = walk(l, target, strlen(target), is_dir, e);
	if (r < 0)
		return place_error(e, target, r);
	if (fstat(r, &st) < 0 || S_ISDIR(st.st_mode) != is_dir || S_ISLNK(st.st_mode)) {
		fd_close(r);
		return place_error(e, target, is_dir ? -ENOTDIR : -EISDIR);
	}
	return r;
}

int launch_place_parent(struct launch *l, const char *target, const char **ret_name, struct error *e)
{
	const char *slash = strrchr(target, '/');
	int r = walk(l, target, (size_t)(slash - target), true, e);

	if (r < 0)
		return place_error(e, target, r);
	*ret_name = slash + 1;
	return r;
}
