#ifndef ISOD_LINUX_LAUNCH_RIGHTS_H
#define ISOD_LINUX_LAUNCH_RIGHTS_H
/*
 * Giving up rights. Each function does one thing, reads it back, and fails where the kernel's answer is not what was
 * asked for. All return 0 or -errno (-EPERM: it did not take effect).
 */
#include <stddef.h>
#include <sys/types.h>

struct launch_ids {
	uid_t real_uid, effective_uid, saved_uid;
	gid_t real_gid, effective_gid, saved_gid;
	const gid_t *groups;
	size_t n_groups;
};

/* No exec of any file can give a capability: bounding and ambient set empty. Needs CAP_SETPCAP. */
int launch_rights_bounding(void);
/* uid 0 is an ordinary uid, for good: the secure bits are set and locked. Needs CAP_SETPCAP. */
int launch_rights_securebits(void);
/* Groups, then gids, then uids. Needs CAP_SETUID and CAP_SETGID. */
int launch_rights_ids(const struct launch_ids *ids);
/* Effective, permitted and inheritable sets empty. */
int launch_rights_capabilities(void);
int launch_rights_no_new_privs(void);
/* Others with our uids can neither trace us nor read our memory, files and environment. */
int launch_rights_not_dumpable(void);

struct launch_context;

/*
 * For who watches over programs: no capability, no_new_privs, not dumpable; the caller's uid as the effective one:
 * enough to signal the program and to look through /proc/PID/fd. As real and saved uid that of isod-net, which nothing
 * inside has: kill(2), prlimit(2), ptrace(2) and kcmp(2) all ask for those.
 */
int launch_rights_watcher(const struct launch_context *c);

#endif
