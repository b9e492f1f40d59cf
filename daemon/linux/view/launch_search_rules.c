#include "daemon/linux/view/launch_search_rules.h"

#include <string.h>

#include "daemon/linux/view/launch_protect.h"
#include "daemon/linux/view/launch_target.h"

bool launch_search_is_writable(enum path_access access)
{
	return access == PATH_WRITABLE || access == PATH_OVERLAID;
}

/* What is to be done to a thing in surroundings of that access; -1 = nothing. */
int launch_search_protection(const struct path_verdict *v, enum path_access around)
{
	if (v->access == PATH_DENIED)
		return LAUNCH_COVER;
	if (!launch_search_is_writable(around))
		return -1;
	/* A layer of its own for a single name cannot be had here: it is not written to, then. */
	if (v->access == PATH_READABLE || (v->access == PATH_OVERLAID && around == PATH_WRITABLE))
		return LAUNCH_LOCK_READ_ONLY;
	return v->keep ? LAUNCH_LOCK : -1;
}

/* Git's store of contents: many files, whose names say nothing. What it says of other stores is in "info". */
bool launch_search_is_store(const struct launch_folder *f)
{
	return strstr(f->path, "/.git/") && strcmp(strrchr(f->path, '/'), "/objects") == 0;
}

/* The access of a grant that no rule is about is that of its mount. */
enum path_access launch_search_access(const struct launch_target *t)
{
	if (t->mount->flags & PLAN_READ_ONLY || t->tree->read_only)
		return PATH_READABLE;
	return t->mount->type == PLAN_MOUNT_OVERLAY ? PATH_OVERLAID : PATH_WRITABLE;
}

/* Grants are looked at by themselves; other mounts of the plan are nobody's files. */
bool launch_search_is_mounted(const struct launch *l, const char *path)
{
	const struct launch_target *t = launch_target_at(l, path);

	return t && t->tree->attached && launch_target_is_mount(t);
}
