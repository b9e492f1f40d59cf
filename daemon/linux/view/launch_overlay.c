#include "daemon/linux/view/launch_overlay.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/view/launch_source.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/wire/fds.h"

#define UPPER "upper"
#define WORK "work"
/* Of the lower root's mode: not set-user-ID, which means nothing for a folder. */
#define MODE_BITS 03777

static int fd_option(int fs, const char *key, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return launch_sys_fsconfig_string(fs, key, path);
}

/* A new folder, O_PATH. */
static int make_folder(int parent, const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(parent, name, 0700) < 0)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Taken off with root's fsuid, and the one that overlayfs cannot do without. launch_caller_leave() restores all. */
static int keep_override(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, sets) < 0)
		return -errno;
	sets[0].effective |= 1U << CAP_DAC_OVERRIDE;
	return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

static int new_overlay(int lower, int upper, int work)
{
	_cleanup_close_ int fs = launch_sys_fsopen("overlay");
	int r = fs < 0 ? fs : fd_option(fs, "lowerdir", lower);

	if (r == 0)
		r = fd_option(fs, "upperdir", upper);
	if (r == 0)
		r = fd_option(fs, "workdir", work);
	if (r == 0)
		r = launch_sys_fsconfig_flag(fs, "userxattr");
	/* Whatever the module's default is: it would tie the layer to this very lower folder. */
	if (r == 0)
		r = launch_sys_fsconfig_string(fs, "index", "off");
	if (r == 0)
		r = launch_sys_fsconfig_create(fs);
	return r < 0 ? r : launch_sys_fsmount(fs, 0);
}

/* Returns the detached mount. */
static int make_overlay(const struct launch *l, uint32_t index)
{
	const struct launch_context *c = l->context;
	_cleanup_close_ int base = -1, upper = -1, work = -1, mount = -1;
	char name[16];
	struct stat st;
	int r;

	snprintf(name, sizeof(name), "%u", index);
	base = l->plan.mounts[index].flags & PLAN_KEEP ? fcntl(LAUNCH_FD_LAYERS, F_DUPFD_CLOEXEC, 3)
						       : make_folder(LAUNCH_FD_SCRATCH, name, 0, 0, 0700);
	if (base < 0)
		return l->plan.mounts[index].flags & PLAN_KEEP ? -errno : base;
	if (fstat(l->trees[index].fd, &st) < 0)
		return -errno;
	upper = make_folder(base, UPPER, st.st_uid, st.st_gid, st.st_mode & MODE_BITS);
	if (upper < 0)
		return upper;
	work = make_folder(base, WORK, c->uid, c->gid, 0700);
	if (work < 0)
		return work;
	r = launch_caller_enter(c);
	if (r < 0)
		return r;
	r = keep_override();
	mount = r < 0 ? r : new_overlay(l->trees[index].fd, upper, work);
	r = launch_caller_leave();
	if (r == 0 && mount < 0)
		r = mount;
	if (r == 0)
		r = launch_sys_mount_set(mount, 0, launch_source_attributes(&l->plan.mounts[index]), 0);
	return r < 0 ? r : take_fd(&mount);
}

/* Read-only and as it is, where the administrator allows less than was promised. */
static int show_as_it_is(struct launch *l, uint32_t index)
{
	struct launch_tree *t = &l->trees[index];

	t->read_only = true;
	return launch_source_clone_tree(&t->fd, true,
					launch_source_attributes(&l->plan.mounts[index]) | MOUNT_ATTR_RDONLY);
}

int launch_overlay_make(struct launch *l, struct error *e)
{
	for (uint32_t i = 0; i < l->plan.n_mounts; i++) {
		int r;

		if (l->plan.mounts[i].type != PLAN_MOUNT_OVERLAY || l->trees[i].absent)
			continue;
		r = make_overlay(l, i);
		if (r >= 0) {
			fd_close(l->trees[i].fd);
			l->trees[i].fd = r;
			continue;
		}
		if (l->plan.flags & PLAN_DEGRADED && show_as_it_is(l, i) == 0)
			continue;
		return launch_step_fail(e, -r,
					"The file systems of that folder and of isod's state folder must be usable by "
					"overlayfs (modprobe overlay; extended attributes).",
					"A layer of the session over %s cannot be made: %s.", l->plan.mounts[i].source,
					strerror(-r));
	}
	return 0;
}
