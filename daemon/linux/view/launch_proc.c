/* /proc and /sys of the view: what container runtimes hide or make read-only, hidden and made read-only. */
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_mount.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_view.h"

/* Writable for uid 0 without any capability, or by permission bits: nothing in here is a session's own. */
static const char *const proc_read_only[] = { "sys",    "sysrq-trigger", "irq",       "bus",           "fs",
					      "mtrr",   "driver",        "scsi",      "dynamic_debug", "pressure",
					      "asound", "kpagecgroup",   "kpageflags" };
/* Memory, keys, timers, interrupts (each key press is one) and the log of the whole machine. */
static const char *const proc_masked[] = { "kcore",       "keys",          "key-users", "timer_list", "timer_stats",
					   "sched_debug", "latency_stats", "kmsg",      "kallsyms",   "kpagecount",
					   "vmallocinfo", "acpi",          "allocinfo", "bootconfig", "interrupts",
					   "iomem",       "pagetypeinfo",  "slabinfo" };
/* dmi: serial numbers of the machine. */
static const char *const sys_masked[] = { "firmware",
					  "devices/virtual/powercap",
					  "devices/virtual/dmi",
					  "hypervisor",
					  "kernel/security",
					  "kernel/debug",
					  "kernel/tracing",
					  "fs/bpf" };

static int open_place(int fs, const char *name)
{
	return launch_sys_openat2(fs, name, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

static int make_read_only(int fs, const char *name)
{
	_cleanup_close_ int place = open_place(fs, name), tree = -1, seen = -1;
	struct statvfs vfs;
	int r;

	if (place < 0)
		return place == -ENOENT ? 0 : place;
	tree = launch_sys_open_tree(place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0)
		return tree;
	r = launch_sys_mount_set(tree, 0, MOUNT_ATTR_RDONLY, 0);
	if (r == 0)
		r = launch_sys_move_mount(tree, place);
	if (r < 0)
		return r;
	seen = open_place(fs, name);
	if (seen < 0 || fstatvfs(seen, &vfs) < 0)
		return -errno;
	return vfs.f_flag & ST_RDONLY ? 0 : -EROFS;
}

/* What covers, once it is attached: the others are copies of it, which cost no file system of their own. */
struct covers {
	int folder;
	int file;
};

/* An empty folder for a folder; for a file the null device, which cannot be opened on a mount without devices. The
 * host's tree is still our root here. */
static int cover_new(bool is_dir)
{
	struct launch_mount_tmpfs empty = {
		.mode = 0, .attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
	};
	_cleanup_close_ int tree = -1;
	int r;

	if (is_dir)
		return launch_mount_tmpfs(&empty);
	tree = launch_sys_open_tree(AT_FDCWD, "/dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0)
		return tree;
	r = launch_sys_mount_set(tree, 0, empty.attributes, MS_PRIVATE);
	return r < 0 ? r : take_fd(&tree);
}

static int cover(int place, int *first, bool is_dir)
{
	_cleanup_close_ int tree = -1;
	int r;

	if (*first >= 0)
		tree = launch_sys_open_tree(*first, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	else
		tree = cover_new(is_dir);
	if (tree < 0)
		return tree;
	r = launch_sys_move_mount(tree, place);
	if (r == 0 && *first < 0)
		*first = take_fd(&tree);
	return r;
}

static int mask(int fs, const char *name, struct covers *covers)
{
	_cleanup_close_ int place = open_place(fs, name), seen = -1;
	struct stat st;
	struct statvfs vfs;
	bool is_dir;
	int r;

	if (place < 0)
		return place == -ENOENT ? 0 : place;
	if (fstat(place, &st) < 0)
		return -errno;
	is_dir = S_ISDIR(st.st_mode);
	r = cover(place, is_dir ? &covers->folder : &covers->file, is_dir);
	if (r < 0)
		return r;
	seen = open_place(fs, name);
	if (seen < 0 || fstat(seen, &st) < 0 || fstatvfs(seen, &vfs) < 0)
		return -errno;
	if (!(vfs.f_flag & ST_RDONLY) || !(vfs.f_flag & ST_NODEV))
		return -EPERM;
	return is_dir || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) ? 0 : -EPERM;
}

static int refused(struct error *e, int r, const char *root, const char *name)
{
	return launch_step_fail(e, -r, NULL, "%s/%s cannot be closed off: %s.", root, name, strerror(-r));
}

static int make_all_read_only(int fs, const char *const *names, size_t n, const char *root, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = make_read_only(fs, names[i]);

		if (r < 0)
			return refused(e, r, root, names[i]);
	}
	return 0;
}

static int mask_all(int fs, const char *const *names, size_t n, const char *root, struct error *e)
{
	struct covers covers = { -1, -1 };
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = mask(fs, names[i], &covers);
		if (r < 0)
			r = refused(e, r, root, names[i]);
	}
	fd_close(covers.folder);
	fd_close(covers.file);
	return r;
}

int launch_proc_attach(struct launch *l, int place, struct error *e)
{
	int r = launch_sys_move_mount(l->proc_fd, place);

	if (r < 0)
		return r;
	r = launch_view_special(l, l->proc_fd);
	/* Inside a user namespace of the program's own the kernel allows a new procfs only where an old one is seen
	 * whole. What is closed off below belongs to root: permission bits keep it from any other uid. */
	if (r < 0 || (l->plan.flags & PLAN_NESTING && l->context->uid != 0))
		return r;
	r = make_all_read_only(l->proc_fd, proc_read_only, ARRAY_SIZE(proc_read_only), "/proc", e);
	if (r == 0)
		r = mask_all(l->proc_fd, proc_masked, ARRAY_SIZE(proc_masked), "/proc", e);
	return r;
}

int launch_proc_attach_sys(struct launch *l, int place, struct error *e)
{
	_cleanup_close_ int sys = launch_mount_sysfs();
	int r;

	if (sys < 0)
		return sys;
	r = launch_sys_move_mount(sys, place);
	if (r == 0)
		r = launch_view_special(l, sys);
	return r < 0 ? r : mask_all(sys, sys_masked, ARRAY_SIZE(sys_masked), "/sys", e);
}
