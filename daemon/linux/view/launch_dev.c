/* /dev of the view: six nodes that are the same for everybody, a devpts instance of its own, shared memory. */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_mount.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_view.h"

#define DEV_SIZE (64U << 10)

static const struct {
	const char *name;
	unsigned major_number;
	unsigned minor_number;
} nodes[] = {
	{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};

static const struct {
	const char *name;
	const char *target;
} links[] = {
	{ "fd", "/proc/self/fd" },       { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" }, { "ptmx", "pts/ptmx" },
};

static int attach_at(int dev, const char *name, int mount)
{
	_cleanup_close_ int place = -1;

	if (mkdirat(dev, name, 0755) < 0)
		return -errno;
	place = openat(dev, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return place < 0 ? -errno : launch_sys_move_mount(mount, place);
}

static int make_nodes(int dev, struct error *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		if (mknodat(dev, nodes[i].name, S_IFCHR | 0666, makedev(nodes[i].major_number, nodes[i].minor_number)) <
		    0)
			return launch_step_fail(
				e, errno, "isod needs CAP_MKNOD; inside a container the device cgroup must allow it.",
				"The device %s cannot be made: %s.", nodes[i].name, strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlinkat(links[i].target, dev, links[i].name) < 0)
			return -errno;
	return 0;
}

static int attach_pts(struct launch *l, int dev)
{
	_cleanup_close_ int pts = launch_mount_devpts(l->context->uid, l->tty_gid);
	int r;

	if (pts < 0)
		return pts;
	r = attach_at(dev, "pts", pts);
	return r < 0 ? r : launch_view_special(l, pts);
}

static int attach_shm(struct launch *l, int dev)
{
	struct launch_mount_tmpfs options = { .mode = 01777,
					      .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	_cleanup_close_ int shm = launch_mount_tmpfs(&options);
	int r;

	if (shm < 0)
		return shm;
	r = attach_at(dev, "shm", shm);
	return r < 0 ? r : launch_place_own(l, shm, false);
}

int launch_dev_attach(struct launch *l, int place, struct error *e)
{
	/* The one mount of the view whose device nodes work. */
	struct launch_mount_tmpfs options = { .mode = 0755,
					      .size = DEV_SIZE,
					      .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };
	_cleanup_close_ int dev = launch_mount_tmpfs(&options);
	int r;

	if (dev < 0)
		return dev;
	r = launch_sys_move_mount(dev, place);
	if (r == 0)
		r = launch_place_own(l, dev, true);
	if (r == 0)
		r = make_nodes(dev, e);
	if (r == 0)
		r = attach_pts(l, dev);
	return r < 0 ? r : attach_shm(l, dev);
}
