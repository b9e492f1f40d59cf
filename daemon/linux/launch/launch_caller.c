#include "daemon/linux/launch/launch_caller.h"

#include <grp.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/linux/launch/launch_sys.h"

/* As the kernel's own walk (MAXSYMLINKS). */
#define LINKS_MAX 40

/* setfsuid and setfsgid report nothing: a second call, which changes nothing, tells whether the first one did. */
static int become_fs(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	if ((gid_t)setfsgid((gid_t)-1) != gid || (uid_t)setfsuid((uid_t)-1) != uid)
		return -EPERM;
	return 0;
}

int launch_caller_enter(const struct launch_context *c)
{
	_Static_assert(sizeof(gid_t) == sizeof(c->groups[0]), "groups are passed as they came");
	if (setgroups(c->n_groups, c->groups) < 0)
		return -errno;
	/* Where the caller is not root, this also takes the capabilities off that override file permissions. */
	return become_fs(c->uid, c->gid);
}

int launch_caller_leave(void)
{
	if (setgroups(0, NULL) < 0)
		return -errno;
	return become_fs(0, 0);
}

static bool is_member(const struct launch_context *c, gid_t gid)
{
	for (uint32_t i = 0; i < c->n_groups; i++)
		if (c->groups[i] == gid)
			return true;
	return false;
}

int launch_caller_keep_group(struct launch *l, gid_t gid, struct error *e)
{
	size_t at = 0;

	/* The group of isod's helpers may read what sessions may not. */
	if (gid == l->context->gid || gid == l->context->net_gid || !is_member(l->context, gid))
		return 0;
	/* As the kernel sorts them: they are compared with what it has. */
	while (at < l->n_groups && l->groups[at] < gid)
		at++;
	if (at < l->n_groups && l->groups[at] == gid)
		return 0;
	if (l->n_groups == LAUNCH_GROUPS_MAX)
		return error_set(e, ERROR_LIMIT, E2BIG, NULL, "Name fewer devices.",
				 "The devices of the policy belong to more than %d groups.", LAUNCH_GROUPS_MAX);
	memmove(l->groups + at + 1, l->groups + at, (l->n_groups - at) * sizeof(*l->groups));
	l->groups[at] = gid;
	l->n_groups++;
	return 0;
}

/* A mount whose folder the host removes meanwhile is no longer below the root: EXDEV, of a lookup that cannot leave it.
 */
static int open_now(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	int r = launch_sys_openat2(dir, path, flags, resolve | RESOLVE_NO_MAGICLINKS);

	return r == -EXDEV && resolve & RESOLVE_IN_ROOT ? -ENOENT : r;
}

int launch_caller_open(const struct launch_context *c, int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	_cleanup_close_ int fd = open_now(dir, path, flags, resolve);
	int r;

	if (fd != -EACCES && fd != -EPERM)
		return fd < 0 ? fd : take_fd(&fd);
	r = launch_caller_enter(c);
	if (r == 0)
		fd = open_now(dir, path, flags, resolve);
	if (r == 0 && fd < 0)
		r = fd;
	if (launch_caller_leave() < 0)
		return -ENOTRECOVERABLE;
	return r < 0 ? r : take_fd(&fd);
}

struct walk {
	const char *path;
	int at;
	unsigned links;
	char rest[2 * LIMIT_PATH]; /* what is still to be walked */
};

static int start_at_root(struct walk *w)
{
	fd_close(w->at);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? -errno : 0;
}

/* Puts the link's content before what is left. */
static int follow(const struct launch_context *c, struct walk *w, int link, const char *after, const struct stat *st,
		  struct error *e)
{
	char content[LIMIT_PATH], rest[sizeof(w->rest)];
	struct statfs fs;
	ssize_t n;

	if (fstatfs(link, &fs) < 0)
		return -errno;
	/* What stands in a link of procfs is not where it leads. */
	if (fs.f_type == PROC_SUPER_MAGIC || ++w->links > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(link, "", content, sizeof(content));
	if (n < 0)
		return -errno;
	if (n == 0 || (size_t)n == sizeof(content))
		return -ENAMETOOLONG;
	if (st->st_uid != c->uid && st->st_uid != 0)
		return error_set(e, ERROR_REFUSED, EPERM, NULL, "Name the path itself, where it is meant.",
				 "%s is reached through a link to %.*s, which belongs to uid %u.", w->path, (int)n,
				 content, st->st_uid);
	if (snprintf(rest, sizeof(rest), "%.*s%s%s", (int)n, content, *after ? "/" : "", after) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(w->rest, rest, sizeof(w->rest));
	return content[0] == '/' ? start_at_root(w) : 0;
}

/* One component off w->rest. 1 = there was none left. */
static int step(const struct launch_context *c, struct walk *w, bool follow_last, struct error *e)
{
	char *name = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(name, "/");
	const char *after = name + n + strspn(name + n, "/");
	_cleanup_close_ int next = -1;
	struct stat st;

	if (n == 0)
		return 1;
	name[n] = '\0';
	next = launch_sys_openat2(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
	if (next < 0)
		return next;
	if (fstat(next, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return !*after && !follow_last ? -ELOOP : follow(c, w, next, after, &st, e);
	fd_close(w->at);
	w->at = take_fd(&next);
	memmove(w->rest, after, strlen(after) + 1);
	return 0;
}

int launch_caller_source(const struct launch_context *c, const char *path, bool follow_last, struct error *e)
{
	struct walk w = { .path = path, .at = -1 };
	/* Mostly there is no link at all: one call then. */
	int r = launch_sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (r != -ELOOP)
		return r;
	if (strlen(path) >= LIMIT_PATH)
		return -ENAMETOOLONG;
	memcpy(w.rest, path, strlen(path) + 1);
	r = start_at_root(&w);
	while (r == 0)
		r = step(c, &w, follow_last, e);
	if (r < 0) {
		fd_close(w.at);
		return r;
	}
	return w.at;
}
