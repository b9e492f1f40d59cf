#ifndef ISOD_LINUX_LAUNCH_MOUNT_H
#define ISOD_LINUX_LAUNCH_MOUNT_H
/* Detached mounts that pid 1 makes itself. All return a descriptor or -errno. */
#include <stdint.h>
#include <sys/types.h>

struct launch_mount_tmpfs {
	uint32_t mode;
	uint64_t size; /* 0: the kernel's own bound, half of memory */
	uid_t uid;
	gid_t gid;
	unsigned attributes; /* MOUNT_ATTR_* */
};

int launch_mount_tmpfs(const struct launch_mount_tmpfs *options);
/* nosuid, nodev, noexec; processes that the reader may not trace do not exist there, pid 1 among them: not even to a
 * caller that is uid 0. exempt: a group that nothing inside has. */
int launch_mount_proc(gid_t exempt);
/* read-only besides */
int launch_mount_sysfs(void);
/* A new instance; slaves belong to uid and gid, mode 0620. */
int launch_mount_devpts(uid_t uid, gid_t gid);

#endif
