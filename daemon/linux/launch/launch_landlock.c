#include "daemon/linux/launch/launch_landlock.h"

#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"

/* Rights that the headers of a supported system may not have yet. */
#define RIGHT_REFER (1ULL << 13)     /* ABI 2 */
#define RIGHT_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define RIGHT_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1) /* both ABI 6 */

#define RIGHTS_FIRST ((1ULL << 13) - 1)
#define RIGHTS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE)
/* The only ones that a rule for a file may hold. */
#define RIGHTS_FILE                                                                                                    \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE | RIGHT_TRUNCATE |  \
	 RIGHT_IOCTL_DEV)
/* Use of what is there, and no more. */
#define RIGHTS_USE                                                                                                     \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)

struct ruleset_attributes {
	uint64_t files;
	uint64_t network; /* ABI 4; the network namespace has rules of its own */
	uint64_t scoped;
};

uint64_t launch_landlock_rights(int abi)
{
	if (abi < 2)
		return 0;
	return RIGHTS_FIRST | RIGHT_REFER | (abi >= 3 ? RIGHT_TRUNCATE : 0) | (abi >= 5 ? RIGHT_IOCTL_DEV : 0);
}

static int add_rule(const struct launch *l, int ruleset, const char *path, uint64_t rights)
{
	_cleanup_close_ int fd = launch_caller_open(l->context, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	struct landlock_path_beneath_attr rule = { .parent_fd = fd, .allowed_access = rights };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= RIGHTS_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

/* What a mount of the plan adds to reading and executing, which the rule for the root gives everywhere. */
static uint64_t added_rights(const struct plan_mount *m, uint64_t all)
{
	switch (m->type) {
	case PLAN_MOUNT_BIND:
	case PLAN_MOUNT_OVERLAY:
	case PLAN_MOUNT_TMPFS:
	case PLAN_MOUNT_SCRATCH:
		return m->flags & PLAN_READ_ONLY ? 0 : all;
	case PLAN_MOUNT_PROC:
		return RIGHTS_USE & all;
	case PLAN_MOUNT_DEV:
		return (RIGHTS_USE | RIGHT_IOCTL_DEV) & all;
	default:
		return 0;
	}
}

static int add_target(const struct launch *l, int ruleset, const char *path, uint64_t rights, struct error *e)
{
	int r = rights == 0 ? 0 : add_rule(l, ruleset, path, rights);

	/* A later mount may lie over it; then there is nothing to allow. */
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "Landlock refuses a rule for %s: %s.", path, strerror(-r));
	return 0;
}

static int add_rules(const struct launch *l, int ruleset, uint64_t all, struct error *e)
{
	int r = add_rule(l, ruleset, "/", RIGHTS_READ);

	for (uint32_t i = 0; i < l->plan.n_mounts && r == 0; i++) {
		const struct plan_mount *m = &l->plan.mounts[i];

		if (l->trees[i].absent)
			continue;
		r = add_target(l, ruleset, m->target, l->trees[i].read_only ? 0 : added_rights(m, all), e);
		if (r == 0 && m->type == PLAN_MOUNT_DEV)
			r = add_rule(l, ruleset, "/dev/shm", all);
	}
	for (size_t i = 0; i < l->n_matches && r == 0; i++) {
		const struct launch_match *m = &l->matches[i];
		bool device = l->plan.mounts[m->mount].type == PLAN_MOUNT_DEVICE;

		r = add_target(l, ruleset, m->path,
			       m->tree.read_only ? 0 : all & (device ? RIGHTS_USE | RIGHT_IOCTL_DEV : all), e);
	}
	return r;
}

int launch_landlock_prepare(struct launch *l, struct error *e)
{
	struct ruleset_attributes attributes = { 0 };
	_cleanup_close_ int ruleset = -1;
	int abi, r;

	if (l->plan.flags & PLAN_NESTING || !(l->context->flags & LAUNCH_HAS_LANDLOCK))
		return 0;
	abi = launch_sys_result(syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION));
	if (abi < 0)
		return launch_step_fail(e, -abi, NULL, "Landlock is no longer offered by the kernel: %s.",
					strerror(-abi));
	attributes.files = launch_landlock_rights(abi);
	if (attributes.files == 0)
		return launch_step_fail(e, EOPNOTSUPP, NULL, "Landlock ABI %d of the kernel cannot be used.", abi);
	if (abi >= 6)
		attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	ruleset = launch_sys_result(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0));
	if (ruleset < 0)
		return ruleset;
	r = add_rules(l, ruleset, attributes.files, e);
	if (r < 0)
		return r;
	l->ruleset_fd = take_fd(&ruleset);
	return 0;
}

int launch_landlock_enter(struct launch *l, struct error *e)
{
	int r;

	if (l->ruleset_fd < 0)
		return 0;
	r = launch_sys_result(syscall(SYS_landlock_restrict_self, l->ruleset_fd, 0));
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "The Landlock domain cannot be entered: %s.", strerror(-r));
	l->ruleset_fd = fd_close(l->ruleset_fd);
	return 0;
}
