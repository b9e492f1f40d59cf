#ifndef ISOD_LINUX_CGROUP_H
#define ISOD_LINUX_CGROUP_H
/*
 * A leaf control group per session, in every hierarchy that is of use: the unified one (v2), or memory, pids, cpu and
 * freezer of v1, or a mixture. Leaves lie below isod's own group where that can be had, else at the hierarchy's root or
 * (v2, see cgroup_unified.h) in a group of isod's there, and are named isod-TAG-ID. Linux only; the texts read here are
 * the kernel's (/proc/self/cgroup).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"

#define CGROUP_MAX 5 /* unified, memory, pids, cpu, freezer; never more than LAUNCH_CGROUPS_MAX */
#define CGROUP_TAG_LEN 8

enum cgroup_controller {
	CGROUP_MEMORY = 1 << 0,
	CGROUP_PIDS = 1 << 1,
	CGROUP_CPU = 1 << 2,
	CGROUP_FREEZER = 1 << 3, /* v1 only: v2 has cgroup.kill */
	CGROUP_UNIFIED = 1 << 4, /* this hierarchy is v2 */
};

struct cgroup_hierarchy {
	int parent;        /* directory in which the leaves are made */
	unsigned provides; /* enum cgroup_controller */
};

#define CGROUP_HANDED_DOWN_MAX 3 /* memory, pids, cpu */

/* What was done to the unified hierarchy, to be undone. */
struct cgroup_unified {
	int root;     /* its top folder; -1 = there is no such hierarchy */
	int left;     /* the group that isod left for a leaf in it; -1 = none */
	bool at_root; /* the leaves lie in isod-TAG at the root */
	const char *handed_down[CGROUP_HANDED_DOWN_MAX];
};

struct cgroup_host {
	struct cgroup_hierarchy hierarchies[CGROUP_MAX];
	unsigned n;
	struct cgroup_unified unified;
	char tag[CGROUP_TAG_LEN + 1]; /* this instance's; lower-case hex */
};

#define CGROUP_HOST_INIT                                                                                               \
	{                                                                                                              \
		.n = 0, .unified = {.root = -1, .left = -1 }                                                           \
	}

struct cgroup_limits {
	uint64_t memory;  /* bytes, 0 = none */
	uint32_t pids;    /* 0 = none */
	uint32_t cpu_pct; /* 200 = two cores, 0 = none */
};

struct cgroup_leaf {
	const struct cgroup_host *host;
	char name[sizeof("isod--") + CGROUP_TAG_LEN + ISOD_ID_LEN];
	int dirs[CGROUP_MAX]; /* by hierarchy, -1 = not made */
};

#define CGROUP_LEAF_INIT                                                                                               \
	{                                                                                                              \
		.dirs = { -1, -1, -1, -1, -1 }                                                                         \
	}

/*
 * Finds the hierarchies below mount (usually "/sys/fs/cgroup"). With v2 it hands the controllers down, as
 * cgroup_unified.h says. A machine without any control group is not an error: host->n is 0. Call before any thread.
 */
int cgroup_host_open(struct cgroup_host *host, const char *mount, const char *tag);
/* Takes away what opening made, where no leaf is left in it. */
void cgroup_host_close(struct cgroup_host *host);

/* Kills what is left in leaves of this tag from an earlier run and removes them. Never fails: what stays is tried by
 * the next run. */
void cgroup_host_sweep(const struct cgroup_host *host);

/* Makes the leaf and sets the limits. A limit asked for that cannot be set is an error (*e says which); nothing is left
 * behind then. */
int cgroup_leaf_make(const struct cgroup_host *host, const char *id, const struct cgroup_limits *limits,
		     struct cgroup_leaf *ret, struct error *e);

/*
 * The ways into the leaf, close-on-exec, the caller's: of v1 the files "tasks", for a process of one thread that writes
 * "0" there; of v2, the last where there is one (*ret_unified), the leaf's folder, into which clone3(2) makes a
 * process. Neither waits. A write to cgroup.procs waits for all processors to have seen it coming, 10 ms or more.
 * Returns how many, or -errno.
 */
int cgroup_leaf_open_ways(const struct cgroup_leaf *leaf, int fds[CGROUP_MAX], bool *ret_unified);

/* SIGKILL to every process in it, those that fork meanwhile included. 0 or -errno. */
int cgroup_leaf_kill(const struct cgroup_leaf *leaf);

/* 0 when it is gone everywhere; -EBUSY while a process is still on its way out: try again later. */
int cgroup_leaf_remove(struct cgroup_leaf *leaf);
/* Closes the descriptors, of a leaf that stays or is gone. */
void cgroup_leaf_close(struct cgroup_leaf *leaf);

#endif
