#ifndef ISOD_LINUX_LAUNCH_CALLER_H
#define ISOD_LINUX_LAUNCH_CALLER_H
/* Opening files with the rights of the caller while everything else stays root's. */
#include "daemon/launch/launch.h"

/* From here on files are opened as the caller: fsuid, fsgid, groups, read back. 0 or -errno. */
int launch_caller_enter(const struct launch_context *c);
/* Root's rights over files again. A failure is fatal for whoever asked. */
int launch_caller_leave(void);

/* Where the caller is a member of it, the program keeps this supplementary group. 0, or -E2BIG with *e. */
int launch_caller_keep_group(struct launch *l, gid_t gid, struct error *e);

/*
 * openat2 as root, and where root may not (root squash, FUSE) as the caller: a folder that its owner has closed for the
 * moment (mode 000) is reached either way. Never follows a magic link. The descriptor or -errno.
 */
int launch_caller_open(const struct launch_context *c, int dir, const char *path, uint64_t flags, uint64_t resolve);

/*
 * Opens (O_PATH) a source on the host, as the caller, after launch_caller_enter(). A symlink on the way must belong to
 * the caller or to root: who made it chooses what is granted. follow: the last component may be one. Magic links are
 * never followed. The descriptor or -errno; -EPERM with *e filled for somebody else's link.
 */
int launch_caller_source(const struct launch_context *c, const char *path, bool follow, struct error *e);

#endif
