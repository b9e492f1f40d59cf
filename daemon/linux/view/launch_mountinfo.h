#ifndef ISOD_LINUX_LAUNCH_MOUNTINFO_H
#define ISOD_LINUX_LAUNCH_MOUNTINFO_H
/*
 * What is mounted in this mount namespace, by the kernel's own list. A path in it is that of the moment: the host may
 * rename folders on the way to a mount, which then is elsewhere.
 */
#include "daemon/launch/launch.h"

struct launch_mountinfo {
	uint64_t id;
	uint64_t device; /* st_dev */
	const char *path;
	const char *type;
	bool read_only; /* the mount, not its file system */
};

struct launch_mountinfo_list {
	struct launch_mountinfo *items;
	size_t n;
};

/*
 * Calls fn for each. Where fn returns -EAGAIN, since the host has moved something meanwhile, all begins anew with a new
 * list, a bounded number of times; any other error ends it and is returned.
 */
int launch_mountinfo_each(struct launch *l,
			  int (*fn)(struct launch *l, const struct launch_mountinfo_list *list,
				    const struct launch_mountinfo *m, struct error *e),
			  struct error *e);

/* Opens (O_PATH) the root of m. -ENOENT: it is hidden for good, by a mount over it or over a folder above. -EAGAIN: it
 * is not where the list says. */
int launch_mountinfo_open(const struct launch *l, const struct launch_mountinfo_list *list,
			  const struct launch_mountinfo *m);

#endif
