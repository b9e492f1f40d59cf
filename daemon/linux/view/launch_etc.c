#include "daemon/linux/view/launch_etc.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/wire/fds.h"

/* One id that means the same on both sides; all others have no owner that a process could be. */
#define ONLY_ID "65534 65534 1"

static int overlay(const char *upper, const char *lower)
{
	_cleanup_close_ int fs = launch_sys_fsopen("overlay");
	char layers[64];
	int r;

	if (fs < 0)
		return fs;
	snprintf(layers, sizeof(layers), "%s:%s", upper, lower);
	r = launch_sys_fsconfig_string(fs, "lowerdir", layers);
	if (r == 0)
		r = launch_sys_fsconfig_create(fs);
	if (r < 0)
		return r;
	return launch_sys_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int write_map(pid_t pid, const char *name)
{
	_cleanup_close_ int fd = -1;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd_write_full(fd, ONLY_ID, strlen(ONLY_ID));
}

/* A user namespace, held by a process only until its descriptor is. */
static int owners_new(void)
{
	char path[40];
	int r, fd = -1;
	pid_t pid = launch_sys_clone3(CLONE_NEWUSER);

	if (pid == 0)
		for (;;)
			pause();
	if (pid < 0)
		return pid;
	r = write_map(pid, "uid_map");
	if (r == 0)
		r = write_map(pid, "gid_map");
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (r == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r == 0 && fd < 0)
		r = -errno;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return r < 0 ? r : fd;
}

/* The host's /etc without owners, detached. */
static int ownerless(void)
{
	_cleanup_close_ int tree = launch_sys_open_tree(AT_FDCWD, "/etc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	_cleanup_close_ int owners = tree < 0 ? -1 : owners_new();
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };

	if (tree < 0)
		return tree;
	if (owners < 0)
		return owners;
	attr.propagation = MS_PRIVATE;
	attr.userns_fd = (uint64_t)owners;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return take_fd(&tree);
}

static int open_one(struct launch *l, struct launch_tree *t)
{
	char layer[32];

	if (l->context->uid == 0) {
		t->fd = ownerless();
		if (t->fd >= 0) {
			l->etc_layer = launch_sys_open_tree(LAUNCH_FD_ETC, "",
							    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
			return l->etc_layer < 0 ? l->etc_layer : 0;
		}
	}
	snprintf(layer, sizeof(layer), "/proc/self/fd/%d", LAUNCH_FD_ETC);
	t->fd = overlay(layer, "/etc");
	return t->fd < 0 ? t->fd : 0;
}

int launch_etc_open(struct launch *l, struct error *e)
{
	for (uint32_t i = 0; i < l->plan.n_mounts; i++) {
		int r;

		if (l->plan.mounts[i].type != PLAN_MOUNT_ETC)
			continue;
		r = open_one(l, &l->trees[i]);
		if (r < 0)
			return launch_step_fail(e, -r, "The kernel needs overlayfs (modprobe overlay).",
						"The view's own /etc cannot be made: %s.", strerror(-r));
	}
	return 0;
}

/* The layers of an overlay must be mounts of one's own namespace: they are attached while it is made. */
int launch_etc_finish(struct launch *l, struct launch_tree *t)
{
	char upper[32], lower[32], bare[32];
	_cleanup_close_ int place = -1;
	int fd, r;

	if (l->etc_layer < 0)
		return 0;
	place = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place < 0)
		return -errno;
	r = launch_sys_move_mount(t->fd, place);
	if (r == 0)
		r = launch_sys_move_mount(l->etc_layer, place);
	if (r < 0)
		return r;
	snprintf(upper, sizeof(upper), "/proc/self/fd/%d", l->etc_layer);
	snprintf(lower, sizeof(lower), "/proc/self/fd/%d", t->fd);
	snprintf(bare, sizeof(bare), "/proc/self/fd/%d", place);
	fd = overlay(upper, lower);
	/* Before Linux 5.19 an overlay takes no such layer. */
	if (fd == -EINVAL)
		fd = overlay(upper, bare);
	if (fd < 0)
		return fd;
	r = launch_sys_umount("/etc", LAUNCH_SYS_DETACH);
	if (r == 0)
		r = launch_sys_umount("/etc", LAUNCH_SYS_DETACH);
	if (r < 0) {
		fd_close(fd);
		return r;
	}
	fd_close(t->fd);
	t->fd = fd;
	l->etc_layer = fd_close(l->etc_layer);
	return 0;
}
