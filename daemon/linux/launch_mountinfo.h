#ifndef ISOD_LINUX_LAUNCH_MOUNTINFO_H
#define ISOD_LINUX_LAUNCH_MOUNTINFO_H
/* What is mounted in this mount namespace, by the kernel's own list. */
#include "daemon/launch/launch.h"

struct launch_mountinfo {
	uint64_t id;
	uint64_t device; /* st_dev */
	const char *path;
	const char *type;
	bool read_only; /* the mount, not its file system */
};

/* Calls fn for each until one returns an error, which is returned. Strings live until fn returns. */
int launch_mountinfo_each(struct launch *l,
			  int (*fn)(struct launch *l, const struct launch_mountinfo *m, struct error *e),
			  struct error *e);

#endif
