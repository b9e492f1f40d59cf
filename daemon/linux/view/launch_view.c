/*
 * Stage "view". pid 1, root, in namespaces of its own.
 *   keeps      root over its own mount namespace; the detached mounts that the outer process opened.
 *   gives up   the host's tree, at the end of it.
 *   must not   act on a path of the plan in the host's tree (it only asks there whether a source has gone); make
 * anything in a folder of the host.
 */
#include "daemon/linux/view/launch_view.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_etc.h"
#include "daemon/linux/watch/launch_late_mounts.h"
#include "daemon/linux/view/launch_mount.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/view/launch_protect.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/net/launch_unix.h"

/* Special file systems that one mount of a plan can stand for. */
#define PER_MOUNT 2
/* Folders, links and empty mount points: a few KiB for thousands of them. */
#define ROOT_SIZE (16U << 20)

int launch_view_proc(struct launch *l, struct error *e)
{
	l->special_devices = calloc((l->plan.n_mounts + 1) * PER_MOUNT, sizeof(*l->special_devices));
	if (!l->special_devices)
		return -ENOMEM;
	l->proc_fd = launch_mount_proc(l->context->net_gid);
	return l->proc_fd < 0 ? l->proc_fd : 0;
}

int launch_view_private(struct launch *l, struct error *e)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : launch_sys_mount_set(root, AT_RECURSIVE, 0, MS_PRIVATE);
}

int launch_view_root(struct launch *l, struct error *e)
{
	struct launch_mount_tmpfs options = { .mode = 0755,
					      .size = ROOT_SIZE,
					      .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	_cleanup_close_ int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (slash < 0)
		return -errno;
	l->root_fd = launch_mount_tmpfs(&options);
	if (l->root_fd < 0)
		return l->root_fd;
	/* Over the host's root, which stays our own root until the pivot: what is stacked there is reached only
	 * through the descriptor. */
	r = launch_sys_move_mount(l->root_fd, slash);
	return r < 0 ? r : launch_place_own(l, l->root_fd, true);
}

int launch_view_special(struct launch *l, int mount)
{
	struct stat st;

	if (fstat(mount, &st) < 0)
		return -errno;
	l->special_devices[l->n_special_devices++] = st.st_dev;
	return 0;
}

static int attach_at(struct launch *l, const char *target, int mount, bool is_dir, struct error *e)
{
	_cleanup_close_ int place = launch_place_open(l, target, is_dir, e);
	int r;

	if (place < 0)
		return place;
	r = launch_sys_move_mount(mount, place);
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "%s cannot be mounted: %s.", target, strerror(-r));
	return 0;
}

static int attach(struct launch *l, const struct plan_mount *m, int mount, bool is_dir, struct error *e)
{
	return attach_at(l, m->target, mount, is_dir, e);
}

/* What was opened is not at its path any more. */
static bool has_vanished(int source, const char *path)
{
	struct stat opened, now;

	if (fstat(source, &opened) < 0)
		return false;
	if (opened.st_nlink == 0)
		return true;
	if (stat(path, &now) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return now.st_dev != opened.st_dev || now.st_ino != opened.st_ino;
}

/* Where the host removes an optional source after it was opened, it counts as absent. */
static int mount_tree(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	struct error why = ERROR_INIT;
	int r;

	if (t->absent)
		return 0;
	r = attach(l, m, t->fd, t->is_dir, &why);
	if (r < 0 && m->flags & PLAN_OPTIONAL && has_vanished(t->fd, m->source)) {
		t->absent = true;
		return 0;
	}
	if (r < 0)
		*e = why;
	return r;
}

static int mount_etc(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	int r = launch_etc_finish(l, t);

	return r < 0 ? r : attach(l, m, t->fd, true, e);
}

static int mount_scratch(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	int r = attach(l, m, t->fd, true, e);

	return r < 0 ? r : launch_place_own(l, t->fd, m->flags & PLAN_READ_ONLY);
}

static int mount_tmpfs(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	bool owned = m->flags & PLAN_OWNED;
	struct launch_mount_tmpfs options = {
		.mode = m->mode,
		.size = m->size,
		.uid = owned ? l->context->uid : 0,
		.gid = owned ? l->context->gid : 0,
		.attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->flags & PLAN_NOEXEC ? MOUNT_ATTR_NOEXEC : 0),
	};
	int r;

	t->fd = launch_mount_tmpfs(&options);
	if (t->fd < 0)
		return t->fd;
	r = attach(l, m, t->fd, true, e);
	return r < 0 ? r : launch_place_own(l, t->fd, m->flags & PLAN_READ_ONLY);
}

static int mount_kernel(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	_cleanup_close_ int place = launch_place_open(l, m->target, true, e);

	if (place < 0)
		return place;
	switch (m->type) {
	case PLAN_MOUNT_PROC:
		return launch_proc_attach(l, place, e);
	case PLAN_MOUNT_SYS:
		return launch_proc_attach_sys(l, place, e);
	default:
		return launch_dev_attach(l, place, e);
	}
}

static int make_dir(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	_cleanup_close_ int place = launch_place_open(l, m->target, true, e), dir = -1;

	if (place < 0)
		return place;
	if (!launch_place_is_own(l, place))
		return launch_step_fail(e, EROFS, NULL, "%s is a folder of the host and stays as it is.", m->target);
	dir = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if (m->flags & PLAN_OWNED && fchown(dir, l->context->uid, l->context->gid) < 0)
		return -errno;
	return fchmod(dir, m->mode) < 0 ? -errno : 0;
}

static int make_link(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	const char *name;
	_cleanup_close_ int parent = launch_place_parent(l, m->target, &name, e);
	struct stat st;

	if (parent < 0)
		return parent;
	if (!launch_place_is_own(l, parent))
		return launch_step_fail(e, EROFS, NULL, "The link %s would lie in a folder of the host.", m->target);
	if (symlinkat(m->source, parent, name) < 0)
		return launch_step_fail(e, errno, NULL, "The link %s cannot be made: %s.", m->target, strerror(errno));
	if (fstat(parent, &st) < 0 || fchownat(parent, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

static int make_socket(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	return launch_unix_make(l, m, e);
}

/* A grant that may have to be asked about. */
static int hold(struct launch *l, const struct plan_mount *m, const char *path, int mount)
{
	if (mount < 0 || !(m->flags & PLAN_GRANT) || !launch_late_mounts_concern(&l->plan, path))
		return 0;
	return launch_place_hold(l, mount);
}

/* What the plan has mounted below it stays on top. */
static int mount_match(struct launch *l, const struct plan_mount *m, struct launch_match *match, struct error *e)
{
	struct launch_deeper deeper;
	int r = launch_protect_lift(l, match->path, &deeper, e);

	if (r == 0)
		r = attach_at(l, match->path, match->tree.fd, match->tree.is_dir, e);
	match->tree.attached = r == 0;
	if (r == 0)
		r = launch_protect_put_back(l, &deeper, e);
	if (r == 0)
		r = hold(l, m, match->path, match->tree.fd);
	launch_protect_deeper_done(&deeper);
	return r;
}

/* In the order of their paths: parents first. One that the host removes after it was found counts as not found; but not
 * once it is mounted, for then what lies deeper, covers among it, is to be back on top or nothing starts. */
static int mount_matches(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	for (size_t i = 0; i < l->n_matches; i++) {
		struct launch_match *match = &l->matches[i];
		struct error why = ERROR_INIT;
		int r;

		if (&l->plan.mounts[match->mount] != m)
			continue;
		r = mount_match(l, m, match, &why);
		match->tree.absent = r < 0 && !match->tree.attached && has_vanished(match->tree.fd, match->path);
		if (r < 0 && !match->tree.absent) {
			*e = why;
			return r;
		}
		match->tree.fd = fd_close(match->tree.fd);
	}
	return 0;
}

static int cover(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	return launch_protect_path(l, m->target, LAUNCH_COVER, e);
}

static int lock(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	return launch_protect_path(l, m->target, m->flags & PLAN_READ_ONLY ? LAUNCH_LOCK_READ_ONLY : LAUNCH_LOCK, e);
}

static int (*const kinds[])(struct launch *, const struct plan_mount *, struct launch_tree *, struct error *) = {
	[PLAN_MOUNT_BIND] = mount_tree,
	[PLAN_MOUNT_TMPFS] = mount_tmpfs,
	[PLAN_MOUNT_PROC] = mount_kernel,
	[PLAN_MOUNT_DEV] = mount_kernel,
	[PLAN_MOUNT_SYS] = mount_kernel,
	[PLAN_MOUNT_ETC] = mount_etc,
	[PLAN_MOUNT_SCRATCH] = mount_scratch,
	[PLAN_MAKE_DIR] = make_dir,
	[PLAN_MAKE_LINK] = make_link,
	[PLAN_MOUNT_OVERLAY] = mount_tree,
	[PLAN_MOUNT_DEVICE] = mount_matches,
	[PLAN_MOUNT_MATCHES] = mount_matches,
	[PLAN_COVER] = cover,
	[PLAN_LOCK] = lock,
	[PLAN_MAKE_SOCKET] = make_socket,
};
_Static_assert(ARRAY_SIZE(kinds) == PLAN_MOUNT_TYPE_END, "one function a type");

int launch_view_mounts(struct launch *l, struct error *e)
{
	for (uint32_t i = 0; i < l->plan.n_mounts; i++) {
		const struct plan_mount *m = &l->plan.mounts[i];
		int r = kinds[m->type](l, m, &l->trees[i], e);

		if (r == 0 && !l->trees[i].absent)
			r = hold(l, m, m->target, l->trees[i].fd);
		if (r < 0)
			return launch_step_fail(e, -r, NULL, "%s cannot be made in the view: %s.", m->target,
						strerror(-r));
		l->trees[i].fd = fd_close(l->trees[i].fd);
		l->trees[i].attached = !l->trees[i].absent;
	}
	return 0;
}
