#include "daemon/session/rights_stages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

/* The header of the oldest build machine knows only the first version; these numbers are the kernel's interface. */
#define ACCESS_FS_ALL_V1 ((1ULL << 13) - 1)
#define ACCESS_FS_REFER (1ULL << 13)     /* version 2 */
#define ACCESS_FS_TRUNCATE (1ULL << 14)  /* version 3 */
#define ACCESS_FS_IOCTL_DEV (1ULL << 15) /* version 5 */
#define ACCESS_NET_BIND_TCP (1ULL << 0)  /* version 4 */
#define SCOPE_ALL 3ULL                   /* version 6: abstract Unix sockets, signals */

struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/* What looking up names reads: its configuration, its modules, what the system's resolver keeps for it, and the random
 * numbers of its questions. Then where openSUSE has the certificates that /etc/ssl leads to. */
static const char *const readable[] = {
	"/etc",
	"/usr",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/run/NetworkManager",
	"/run/nscd",
	"/var/run/nscd",
	"/mnt/wsl/resolv.conf",
	"/dev/urandom",
	"/var/lib/ca-certificates",
};

static struct ruleset ruleset_for(long version)
{
	struct ruleset r = { .handled_access_fs = ACCESS_FS_ALL_V1 };

	if (version >= 2)
		r.handled_access_fs |= ACCESS_FS_REFER;
	if (version >= 3)
		r.handled_access_fs |= ACCESS_FS_TRUNCATE;
	if (version >= 4)
		r.handled_access_net = ACCESS_NET_BIND_TCP;
	if (version >= 5)
		r.handled_access_fs |= ACCESS_FS_IOCTL_DEV;
	if (version >= 6)
		r.scoped = SCOPE_ALL;
	return r;
}

static int allow_reading(int ruleset, const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fd < 0) /* not on every system; without it there is less to read */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

int rights_landlock(const struct rights *rights)
{
	_cleanup_close_ int ruleset = -1;
	struct ruleset attr;
	long version;

	if (!(rights->context->flags & SESSION_HAS_LANDLOCK))
		return 0;
	version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version < 1)
		return version < 0 ? -errno : -ENOSYS;
	attr = ruleset_for(version);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr,
			       version >= 6   ? sizeof(attr)
			       : version >= 4 ? offsetof(struct ruleset, scoped)
					      : offsetof(struct ruleset, handled_access_net),
			       0);
	if (ruleset < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(readable); i++) {
		int r = allow_reading(ruleset, readable[i]);

		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -errno;
	/* Verified by trying: the root folder is in no rule. */
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES)
		return -EPERM;
	return 0;
}
