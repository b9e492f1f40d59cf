#include "daemon/linux/view/launch_source.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/net/launch_reach.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/wire/fds.h"

/* Not in the headers of every supported system. */
#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif
#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef FUSE_CTL_SUPER_MAGIC
#define FUSE_CTL_SUPER_MAGIC 0x65735543
#endif

static const struct {
	uint64_t magic;
	const char *type;
} special[] = {
	{ PROC_SUPER_MAGIC, "proc" },        { SYSFS_MAGIC, "sysfs" },           { CGROUP_SUPER_MAGIC, "cgroup" },
	{ CGROUP2_SUPER_MAGIC, "cgroup2" },  { DEVPTS_SUPER_MAGIC, "devpts" },   { DEBUGFS_MAGIC, "debugfs" },
	{ TRACEFS_MAGIC, "tracefs" },        { SECURITYFS_MAGIC, "securityfs" }, { BPF_FS_MAGIC, "bpf" },
	{ EFIVARFS_MAGIC, "efivarfs" },      { SELINUX_MAGIC, "selinuxfs" },     { NSFS_MAGIC, "nsfs" },
	{ BINFMTFS_MAGIC, "binfmt_misc" },   { MQUEUE_MAGIC, "mqueue" },         { CONFIGFS_MAGIC, "configfs" },
	{ PIPEFS_MAGIC, "pipefs" },          { SOCKFS_MAGIC, "sockfs" },         { PSTOREFS_MAGIC, "pstore" },
	{ FUSE_CTL_SUPER_MAGIC, "fusectl" },
};

bool launch_source_is_special(uint64_t magic)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (special[i].magic == magic)
			return true;
	return false;
}

bool launch_source_is_special_type(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (strcmp(special[i].type, type) == 0)
			return true;
	return false;
}

static int source_error(struct error *e, const struct launch *l, const struct plan_mount *m, int r)
{
	bool caller = r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP || r == -ENAMETOOLONG;

	const char *remedy = NULL;

	if (r == -EMFILE)
		remedy = "Raise the limit of open files of isod (LimitNOFILE).";
	/* FUSE looks at all ids of a process, not only at those that it opens files with. */
	if (r == -EACCES)
		remedy = "See whether you may enter each folder on the way; a FUSE file system (sshfs) needs \"-o "
			 "allow_other\" or "
			 "\"-o allow_root\", since isod must enter it, too.";
	return error_set(e, caller ? ERROR_INVALID : ERROR_SANDBOX_UNAVAILABLE, -r, NULL, remedy,
			 "%s cannot be opened with the rights of uid %u: %s.", m->source, l->context->uid,
			 strerror(-r));
}

int launch_source_check(int fd, const char *path, struct error *e)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (launch_source_is_special((uint64_t)fs.f_type))
		return error_set(e, ERROR_REFUSED, EPERM, NULL, NULL,
				 "%s is part of a file system of the kernel, which a sandbox must not share.", path);
	return 0;
}

/* /dev/null covers a file: it cannot be opened there, since nothing in the view acts as a device. */
static bool is_bindable(const struct stat *st)
{
	return S_ISDIR(st->st_mode) || S_ISREG(st->st_mode) || S_ISSOCK(st->st_mode) ||
	       (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3));
}

static int check_kind(const struct plan_mount *m, const struct stat *st, struct error *e)
{
	if (m->type == PLAN_MOUNT_OVERLAY && !S_ISDIR(st->st_mode))
		return error_set(e, ERROR_REFUSED, ENOTDIR, NULL, NULL,
				 "%s is no folder, so there can be no layer over it.", m->source);
	if (!is_bindable(st))
		return error_set(e, ERROR_REFUSED, EPERM, NULL, NULL, "%s is neither a file nor a folder nor a socket.",
				 m->source);
	return 0;
}

static int check_source(struct launch *l, const struct plan_mount *m, struct launch_tree *t, struct error *e)
{
	struct stat st;
	int r;

	if (fstat(t->fd, &st) < 0)
		return source_error(e, l, m, -errno);
	r = launch_source_check(t->fd, m->source, e);
	if (r == 0)
		r = check_kind(m, &st, e);
	if (r < 0)
		return r;
	t->is_dir = S_ISDIR(st.st_mode);
	return m->flags & PLAN_PROJECT ? launch_caller_keep_group(l, st.st_gid, e) : 0;
}

static bool has_source(const struct plan_mount *m)
{
	return m->type == PLAN_MOUNT_BIND || m->type == PLAN_MOUNT_OVERLAY;
}

static int open_sources(struct launch *l, struct error *e)
{
	for (uint32_t i = 0; i < l->plan.n_mounts; i++) {
		const struct plan_mount *m = &l->plan.mounts[i];
		struct launch_tree *t = &l->trees[i];
		int r;

		if (!has_source(m))
			continue;
		r = launch_reach(l, m, m->source, m->flags & PLAN_FOLLOW, e);
		if (m->flags & PLAN_OPTIONAL && (r == -ENOENT || r == -ENOTDIR || r == -EACCES)) {
			t->absent = true;
			continue;
		}
		if (r < 0)
			return source_error(e, l, m, r);
		t->fd = r;
		r = check_source(l, m, t, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int launch_source_open(struct launch *l, struct error *e)
{
	int r = launch_caller_enter(l->context);

	if (r < 0)
		return launch_step_fail(e, -r, "isod needs CAP_SETUID and CAP_SETGID.",
					"The rights of uid %u cannot be taken on to open files: %s.", l->context->uid,
					strerror(-r));
	r = open_sources(l, e);
	if (r < 0)
		return r;
	return launch_caller_leave();
}

uint64_t launch_source_attributes(const struct plan_mount *m)
{
	/* A device is written to on a read-only mount, too; its node's mode and owner are not. */
	if (m->type == PLAN_MOUNT_DEVICE)
		return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->flags & PLAN_READ_ONLY ? MOUNT_ATTR_RDONLY : 0) |
	       (m->flags & PLAN_NOEXEC ? MOUNT_ATTR_NOEXEC : 0);
}

int launch_source_clone_tree(int *fd, bool recursive, uint64_t attributes)
{
	unsigned deep = recursive ? AT_RECURSIVE : 0;
	int tree = launch_sys_open_tree(*fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | deep);

	if (tree < 0)
		return tree;
	fd_close(*fd);
	*fd = tree;
	return launch_sys_mount_set(tree, deep, attributes, MS_PRIVATE);
}

static int clone_source(struct launch_tree *t, const struct plan_mount *m, const char *path, struct error *e)
{
	int r = launch_source_clone_tree(&t->fd, t->is_dir,
					 launch_source_attributes(m) | (t->read_only ? MOUNT_ATTR_RDONLY : 0));

	if (r < 0)
		return launch_step_fail(e, -r, "Linux 5.14 or later and CAP_SYS_ADMIN are needed.",
					"A mount of %s cannot be made: %s.", path, strerror(-r));
	return 0;
}

int launch_source_clone(struct launch *l, struct error *e)
{
	int r = 0;

	for (uint32_t i = 0; i < l->plan.n_mounts && r == 0; i++) {
		const struct plan_mount *m = &l->plan.mounts[i];

		if (m->type == PLAN_MOUNT_BIND && !l->trees[i].absent)
			r = clone_source(&l->trees[i], m, m->source, e);
	}
	for (size_t i = 0; i < l->n_matches && r == 0; i++)
		r = clone_source(&l->matches[i].tree, &l->plan.mounts[l->matches[i].mount], l->matches[i].path, e);
	return r;
}

static int scratch_folder(const struct launch *l, const struct plan_mount *m, uint32_t index)
{
	_cleanup_close_ int fd = -1;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%u", index);
	if (mkdirat(LAUNCH_FD_SCRATCH, name, 0700) < 0)
		return -errno;
	fd = openat(LAUNCH_FD_SCRATCH, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (m->flags & PLAN_OWNED && fchown(fd, l->context->uid, l->context->gid) < 0)
		return -errno;
	if (fchmod(fd, m->mode) < 0)
		return -errno;
	/* Read-only is for later, since mount points may have to be made in it. */
	r = launch_source_clone_tree(&fd, false, launch_source_attributes(m) & ~(uint64_t)MOUNT_ATTR_RDONLY);
	return r < 0 ? r : take_fd(&fd);
}

int launch_source_scratch(struct launch *l, struct error *e)
{
	for (uint32_t i = 0; i < l->plan.n_mounts; i++) {
		if (l->plan.mounts[i].type != PLAN_MOUNT_SCRATCH)
			continue;
		l->trees[i].fd = scratch_folder(l, &l->plan.mounts[i], i);
		if (l->trees[i].fd < 0)
			return launch_step_fail(e, -l->trees[i].fd, NULL,
						"The folder for %s cannot be made on disk: %s.",
						l->plan.mounts[i].target, strerror(-l->trees[i].fd));
	}
	return 0;
}

int launch_source_own(struct launch *l, struct error *e)
{
	struct stat st;

	l->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (l->null_fd < 0)
		return -errno;
	/* The group "tty", without reading a group file: udev gives it to this node on every distribution. Where the
	 * node has no group, slaves belong to the caller's. */
	l->tty_gid = stat("/dev/tty", &st) == 0 && st.st_gid != 0 ? st.st_gid : l->context->gid;
	/* PLAN and CONTEXT hold the places of what launch_join_keep() puts there. */
	fd_close(LAUNCH_FD_RULESET);
	fd_close(LAUNCH_FD_SECCOMP);
	fd_close(LAUNCH_FD_ETC);
	fd_close(LAUNCH_FD_SCRATCH);
	fd_close(LAUNCH_FD_LAYERS);
	if (!(l->context->flags & LAUNCH_HAS_LATE)) {
		fd_close(LAUNCH_FD_LATE_SESSIONS);
		fd_close(LAUNCH_FD_LATE_FOLDERS);
	}
	return 0;
}
