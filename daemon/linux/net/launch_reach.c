#include "daemon/linux/net/launch_reach.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_target.h"
#include "view/path_pattern.h"
#include "view/path_rules.h"

/* The outermost folder around path that the rules grant, as the length of its part of path; 0 = none. */
static size_t granted_around(const struct launch *l, const char *path)
{
	char folder[LIMIT_PATH];
	struct path_verdict v;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t n = (size_t)(slash - path);

		memcpy(folder, path, n);
		folder[n] = '\0';
		path_rules_decide(l->rules, folder, PATH_FOLDER, &v);
		if (v.access > PATH_DENIED)
			return n;
	}
	return 0;
}

/* Where what is open lies on the host. */
static int path_of(int fd, char path[LIMIT_PATH])
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, path, LIMIT_PATH);
	if (n < 0)
		return -errno;
	if (n == LIMIT_PATH || path[0] != '/')
		return -ENAMETOOLONG;
	path[n] = '\0';
	return 0;
}

/* In the rules' spelling: a granted folder may be reached through links of its owner's, which the rules do not know. */
static int respell(char path[LIMIT_PATH], int around, const char *name, size_t name_len)
{
	char folder[LIMIT_PATH], text[LIMIT_PATH];
	int r = path_of(around, folder);
	size_t n = strlen(folder);

	if (r < 0)
		return r;
	if (strncmp(path, folder, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return 0;
	if (snprintf(text, sizeof(text), "%.*s%s", (int)name_len, name, path + n) >= (int)sizeof(text))
		return -ENAMETOOLONG;
	memcpy(path, text, sizeof(text));
	return 0;
}

/* A layer takes what is written to it: only another one does as much. */
static bool is_enough(const struct plan_mount *m, enum path_access access)
{
	if (m->type == PLAN_MOUNT_OVERLAY)
		return access == PATH_OVERLAID;
	return m->flags & PLAN_READ_ONLY ? access > PATH_DENIED : access == PATH_WRITABLE;
}

/* The kind of what a link leads to; of a file that would have to be looked into the worse is assumed. */
static int by_link(const struct launch *l, const struct plan_mount *m, const char *path, int around, size_t around_len,
		   bool follow, struct error *e)
{
	_cleanup_close_ int fd = launch_caller_source(l->context, path, follow, e);
	char real[LIMIT_PATH];
	struct path_verdict v;
	struct stat st;
	int r = fd < 0 ? fd : path_of(fd, real);

	if (r == 0)
		r = respell(real, around, path, around_len);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	path_rules_decide(l->rules, real, S_ISDIR(st.st_mode) ? PATH_FOLDER : PATH_FILE, &v);
	if (!(m->flags & PLAN_GRANT) || is_enough(m, v.access))
		return -ENOENT;
	return error_set(e, ERROR_REFUSED, EPERM, NULL,
			 "Name that path itself, if it is meant. The link lies where a program in a sandbox could have "
			 "put it.",
			 "%s is reached through a link that leads to %s, which the policy does not allow %s.", path,
			 real,
			 m->type == PLAN_MOUNT_OVERLAY ? "as an overlay"
			 : m->flags & PLAN_READ_ONLY   ? "to be read"
						       : "to be written");
}

int launch_reach(const struct launch *l, const struct plan_mount *m, const char *path, bool follow, struct error *e)
{
	const uint64_t flags = O_PATH | O_CLOEXEC;
	size_t n = l->rules && strlen(path) < LIMIT_PATH ? granted_around(l, path) : 0;
	_cleanup_close_ int around = -1;
	char folder[LIMIT_PATH];
	int r;

	if (n == 0)
		return launch_caller_source(l->context, path, follow, e);
	memcpy(folder, path, n);
	folder[n] = '\0';
	around = launch_caller_source(l->context, folder, true, e);
	if (around < 0)
		return around;
	r = launch_sys_openat2(around, path + n + 1, flags,
			       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	return r == -ELOOP ? by_link(l, m, path, around, n, follow, e) : r;
}

static bool is_mounted(const struct launch *l, const char *path)
{
	const struct launch_target *t = launch_target_at(l, path);

	return t && launch_target_is_mount(t);
}

/* What is not there, or not for the caller, is absent inside, too. */
static bool is_fault(int r)
{
	return r < 0 && r != -ENOENT && r != -ENOTDIR && r != -EACCES && r != -ELOOP && r != -ENAMETOOLONG;
}

static int reach_other(const struct launch *l, const struct path_rule *rule, struct error *e)
{
	const struct plan_mount m = {
		.type = rule->effect == PATH_OVERLAY ? PLAN_MOUNT_OVERLAY : PLAN_MOUNT_BIND,
		.flags = PLAN_GRANT | (rule->effect == PATH_ALLOW_READ ? PLAN_READ_ONLY : 0),
	};
	struct path_verdict v;
	char path[LIMIT_PATH];
	int r;

	if (rule->effect > PATH_OVERLAY || rule->flags & PATH_RULE_BUILT_IN ||
	    !path_pattern_is_literal(rule->pattern) || path_pattern_unescape(rule->pattern, path, sizeof(path)) < 0)
		return 0;
	/* Mostly there is no link at all: one call then. */
	r = launch_sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	fd_close(r);
	if (r != -ELOOP || is_mounted(l, path) || granted_around(l, path) == 0)
		return is_fault(r) ? r : 0;
	path_rules_decide(l->rules, path, PATH_ANY, &v);
	if (v.access <= PATH_DENIED)
		return 0;
	r = launch_reach(l, &m, path, true, e);
	fd_close(r);
	return is_fault(r) ? r : 0;
}

int launch_reach_others(struct launch *l, struct error *e)
{
	int r = launch_caller_enter(l->context);

	for (uint32_t i = 0; i < l->plan.n_rules && r == 0; i++)
		r = reach_other(l, &l->plan.rules[i], e);
	return r < 0 ? r : launch_caller_leave();
}
