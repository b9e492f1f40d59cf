#include "daemon/linux/view/launch_cover.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_mount.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/launch/launch_sys.h"

#define COVER_FILE "file"
#define COVER_FOLDER "folder"
#define ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* A copy of a detached mount cannot be made before Linux 6.15: they lie in the host's tree meanwhile and go with it,
 * where no source can be. To take them off alone would be one more time to wait until all processors know. */
#define COVERS "/sys"

static int attach_covers(struct launch *l)
{
	_cleanup_close_ int place = open(COVERS, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return place < 0 ? -errno : launch_sys_move_mount(l->covers_fd, place);
}

int launch_cover_prepare(struct launch *l, struct error *e)
{
	struct launch_mount_tmpfs options = { .mode = 0711, .size = 4096, .attributes = ATTRIBUTES };
	struct stat st;
	int r;

	l->covers_fd = launch_mount_tmpfs(&options);
	if (l->covers_fd < 0)
		return l->covers_fd;
	r = attach_covers(l);
	if (r < 0)
		return r;
	if (mknodat(l->covers_fd, COVER_FILE, S_IFREG, 0) < 0 || mkdirat(l->covers_fd, COVER_FOLDER, 0) < 0 ||
	    fstat(l->covers_fd, &st) < 0)
		return -errno;
	l->covers_device = st.st_dev;
	return launch_sys_mount_set(l->covers_fd, 0, MOUNT_ATTR_RDONLY, MS_PRIVATE);
}

static int is_read_only(int mount)
{
	struct statvfs fs;

	if (fstatvfs(mount, &fs) < 0)
		return -errno;
	return fs.f_flag & ST_RDONLY ? 0 : -EROFS;
}

static int attach_copy(struct launch *l, int place, bool is_dir, uint64_t *ret_id)
{
	_cleanup_close_ int tree = launch_sys_open_tree(l->covers_fd, is_dir ? COVER_FOLDER : COVER_FILE,
							OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	int r = tree < 0 ? tree : is_read_only(tree);

	if (r == 0)
		r = launch_place_mount_id(tree, ret_id);
	return r < 0 ? r : launch_sys_move_mount(tree, place);
}

static int attach_traversable(struct launch *l, int place, uint64_t *ret_id)
{
	struct launch_mount_tmpfs options = { .mode = 0711, .size = 1U << 20, .attributes = ATTRIBUTES };
	_cleanup_close_ int mount = launch_mount_tmpfs(&options);
	int r = mount < 0 ? mount : launch_place_mount_id(mount, ret_id);

	if (r == 0)
		r = launch_sys_move_mount(mount, place);
	return r < 0 ? r : launch_place_own(l, mount, true);
}

int launch_cover_attach(struct launch *l, int place, bool is_dir, bool traversable, uint64_t *ret_id)
{
	return is_dir && traversable ? attach_traversable(l, place, ret_id) : attach_copy(l, place, is_dir, ret_id);
}

int launch_cover_lock(struct launch *l, int place, bool read_only, uint64_t *ret_id)
{
	_cleanup_close_ int tree = -1;
	bool own = launch_place_is_own(l, place);
	struct stat st;
	unsigned deep;
	int r;

	if (fstat(place, &st) < 0)
		return -errno;
	/* Nothing is below a file; the kernel would look through all mounts for it. */
	deep = S_ISDIR(st.st_mode) ? AT_RECURSIVE : 0;
	tree = launch_sys_open_tree(place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | deep);
	r = tree < 0 ? tree : launch_place_mount_id(tree, ret_id);
	/* In the session's own folders mount points may still have to be made: they are sealed later. */
	if (r == 0)
		r = launch_sys_mount_set(tree, deep, read_only && !own ? MOUNT_ATTR_RDONLY : 0, MS_PRIVATE);
	if (r == 0 && read_only && !own)
		r = is_read_only(tree);
	if (r == 0)
		r = launch_sys_move_mount(tree, place);
	if (r == 0)
		r = launch_place_hold(l, tree);
	return r < 0 || !own ? r : launch_place_own(l, tree, read_only);
}
