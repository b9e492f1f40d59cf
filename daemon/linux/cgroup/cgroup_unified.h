#ifndef ISOD_LINUX_CGROUP_UNIFIED_H
#define ISOD_LINUX_CGROUP_UNIFIED_H
/*
 * Where in the unified hierarchy the leaves lie. v2 hands a controller down only from a group without processes of its
 * own, the hierarchy's root apart:
 *
 *  - isod alone in its group, which has all controllers (systemd: Delegate=yes): there; isod itself moves into a leaf,
 *    isod-TAG-daemon.
 *  - others in it (a login's session, a shell), or a controller missing: in a group of its own at the root, isod-TAG;
 *    isod stays where it is.
 */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/linux/cgroup/cgroup.h"

struct cgroup_unified_controller {
	const char *name; /* in cgroup.controllers */
	unsigned bit;
};

/* Chooses the place and makes what is to be made. Takes root, the hierarchy's top folder. own: isod's group relative to
 * it, NULL or "" where that is the root or cannot be known. Sets host->unified and adds one hierarchy to host, whose
 * tag is set. Never fails: where nothing can be handed down the hierarchy provides CGROUP_UNIFIED alone. */
void cgroup_unified_open(struct cgroup_host *host, int root, const char *own,
			 const struct cgroup_unified_controller *wanted, size_t n);

/* Takes the groups away and moves isod back; of leaves that are still there nothing. */
void cgroup_unified_close(struct cgroup_host *host);

/* The group of an earlier run at the root, where this one has none there: -errno, or a descriptor of the folder. */
int cgroup_unified_open_stale(const struct cgroup_host *host);
void cgroup_unified_remove_stale(const struct cgroup_host *host);

#endif
