/* The end of the view: it becomes the only one, and read-only where it is to be. */
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_mount.h"
#include "daemon/linux/view/launch_mountinfo.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/view/launch_source.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_view.h"

int launch_view_pivot(struct launch *l, struct error *e)
{
	struct stat wanted, got;
	int r;

	if (fchdir(l->root_fd) < 0)
		return -errno;
	/* Both in one place: the old root ends up over the new one and is taken off again. */
	r = launch_sys_pivot_root(".", ".");
	if (r < 0)
		return launch_step_fail(e, -r, r == -EINVAL ? "The host's root must not be the initial ramfs." : NULL,
					"The view cannot become the root: %s.", strerror(-r));
	r = launch_sys_umount(".", LAUNCH_SYS_DETACH);
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "The host's tree cannot be taken off: %s.", strerror(-r));
	l->covers_fd = fd_close(l->covers_fd);
	if (chdir("/") < 0 || stat("/", &got) < 0 || fstat(l->root_fd, &wanted) < 0)
		return -errno;
	if (got.st_dev != wanted.st_dev || got.st_ino != wanted.st_ino)
		return launch_step_fail(e, EXDEV, NULL, "The root is not the one that was made.");
	return 0;
}

static bool is_own_device(const struct launch *l, uint64_t device)
{
	for (size_t i = 0; i < l->n_special_devices; i++)
		if (l->special_devices[i] == device)
			return true;
	return false;
}

static int cover(struct launch *l, int place, const char *path, struct error *e)
{
	struct launch_mount_tmpfs empty = { .mode = 0, .attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	_cleanup_close_ int mount = -1;
	struct stat st;

	if (fstat(place, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return error_set(e, ERROR_REFUSED, EPERM, NULL, "Deny that path, or allow less around it.",
				 "%s is a mounted file of the kernel, which a sandbox must not share.", path);
	mount = launch_mount_tmpfs(&empty);
	return mount < 0 ? mount : launch_sys_move_mount(mount, place);
}

static int check_mount(struct launch *l, const struct launch_mountinfo_list *list, const struct launch_mountinfo *m,
		       struct error *e)
{
	_cleanup_close_ int place = -1;

	if (!launch_source_is_special_type(m->type) || is_own_device(l, m->device))
		return 0;
	place = launch_mountinfo_open(l, list, m);
	/* Under a cover already. */
	if (place == -ENOENT)
		return 0;
	if (place < 0 && place != -EAGAIN)
		return launch_step_fail(e, -place, NULL, "%s is a file system of the kernel and cannot be covered: %s.",
					m->path, strerror(-place));
	return place < 0 ? place : cover(l, place, m->path, e);
}

int launch_view_foreign(struct launch *l, struct error *e)
{
	return launch_mountinfo_each(l, check_mount, e);
}

static int seal(int mount, struct error *e)
{
	struct statvfs fs;
	int r = launch_sys_mount_set(mount, 0, MOUNT_ATTR_RDONLY, 0);

	if (r < 0)
		return r;
	if (fstatvfs(mount, &fs) < 0)
		return -errno;
	return fs.f_flag & ST_RDONLY ? 0 : launch_step_fail(e, EROFS, NULL, "A mount of the view stays writable.");
}

static bool is_sealed(const struct launch *l, uint64_t device, const uint64_t *inode)
{
	for (size_t i = 0; i < l->n_own; i++)
		if (l->own[i].read_only && l->own[i].device == device && (!inode || l->own[i].inode == *inode))
			return true;
	return false;
}

/* A copy, made when something was mounted above it. */
static int seal_copy(struct launch *l, const struct launch_mountinfo_list *list, const struct launch_mountinfo *m,
		     struct error *e)
{
	_cleanup_close_ int place = -1;
	struct stat st;
	uint64_t inode;

	if (m->read_only || !is_sealed(l, m->device, NULL))
		return 0;
	place = launch_mountinfo_open(l, list, m);
	/* Nobody gets there. */
	if (place == -ENOENT)
		return 0;
	if (place < 0 || fstat(place, &st) < 0)
		return place < 0 ? place : -errno;
	inode = st.st_ino;
	return is_sealed(l, st.st_dev, &inode) ? seal(place, e) : 0;
}

int launch_view_seal(struct launch *l, struct error *e)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < l->n_own && r == 0; i++) {
		if (l->own[i].read_only) {
			r = seal(l->own[i].fd, e);
			n++;
		}
		l->own[i].fd = fd_close(l->own[i].fd);
	}
	/* Of the root, which is always among them, there is no copy. */
	return r < 0 || n <= 1 ? r : launch_mountinfo_each(l, seal_copy, e);
}

int launch_view_hostname(struct launch *l, struct error *e)
{
	if (sethostname(l->plan.hostname, strlen(l->plan.hostname)) < 0)
		return -errno;
	/* The host's NIS name is inherited otherwise. */
	return setdomainname("(none)", 6) < 0 ? -errno : 0;
}
