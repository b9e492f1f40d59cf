/* The end of the view: it becomes the only one, and read-only where it is to be. */
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch_mount.h"
#include "daemon/linux/launch_mountinfo.h"
#include "daemon/linux/launch_place.h"
#include "daemon/linux/launch_source.h"
#include "daemon/linux/launch_sys.h"
#include "daemon/linux/launch_view.h"

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

int launch_view_seal(struct launch *l, struct error *e)
{
	for (size_t i = 0; i < l->n_own; i++) {
		struct statvfs fs;
		int r;

		if (l->own[i].read_only) {
			r = launch_sys_mount_set(l->own[i].fd, 0, MOUNT_ATTR_RDONLY, 0);
			if (r < 0)
				return r;
			if (fstatvfs(l->own[i].fd, &fs) < 0)
				return -errno;
			if (!(fs.f_flag & ST_RDONLY))
				return launch_step_fail(e, EROFS, NULL, "A mount of the view stays writable.");
		}
		l->own[i].fd = fd_close(l->own[i].fd);
	}
	return 0;
}

int launch_view_hostname(struct launch *l, struct error *e)
{
	if (sethostname(l->plan.hostname, strlen(l->plan.hostname)) < 0)
		return -errno;
	/* The host's NIS name is inherited otherwise. */
	return setdomainname("(none)", 6) < 0 ? -errno : 0;
}
