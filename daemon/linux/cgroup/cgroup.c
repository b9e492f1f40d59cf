#include "daemon/linux/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/cgroup/cgroup_file.h"

#define CPU_PERIOD_US 100000

static int open_dir_at(int parent, const char *name)
{
	int fd = openat(parent, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int set_memory(int dir, unsigned provides, const struct cgroup_limits *limits)
{
	bool unified = provides & CGROUP_UNIFIED;
	int r = cgroup_file_write(dir, unified ? "memory.max" : "memory.limit_in_bytes", "%llu",
				  (unsigned long long)limits->memory);

	if (r < 0)
		return r;
	if (unified)
		r = cgroup_file_write(dir, "memory.swap.max", "0");
	else
		/* Memory and swap together: the same number leaves none for swap. */
		r = cgroup_file_write(dir, "memory.memsw.limit_in_bytes", "%llu", (unsigned long long)limits->memory);
	/* Missing where the kernel does not account for swap. */
	return r == -ENOENT || r == -EOPNOTSUPP ? 0 : r;
}

static int set_pids(int dir, unsigned provides, const struct cgroup_limits *limits)
{
	return cgroup_file_write(dir, "pids.max", "%u", limits->pids);
}

static int set_cpu(int dir, unsigned provides, const struct cgroup_limits *limits)
{
	unsigned long long quota = (unsigned long long)limits->cpu_pct * (CPU_PERIOD_US / 100);
	int r;

	if (provides & CGROUP_UNIFIED)
		return cgroup_file_write(dir, "cpu.max", "%llu %d", quota, CPU_PERIOD_US);
	r = cgroup_file_write(dir, "cpu.cfs_period_us", "%d", CPU_PERIOD_US);
	return r < 0 ? r : cgroup_file_write(dir, "cpu.cfs_quota_us", "%llu", quota);
}

static uint64_t wants_memory(const struct cgroup_limits *l)
{
	return l->memory;
}
static uint64_t wants_pids(const struct cgroup_limits *l)
{
	return l->pids;
}
static uint64_t wants_cpu(const struct cgroup_limits *l)
{
	return l->cpu_pct;
}

static const struct {
	unsigned controller;
	const char *name;
	uint64_t (*wanted)(const struct cgroup_limits *);
	int (*set)(int dir, unsigned provides, const struct cgroup_limits *);
} limit_table[] = {
	{ CGROUP_MEMORY, "memory", wants_memory, set_memory },
	{ CGROUP_PIDS, "pids", wants_pids, set_pids },
	{ CGROUP_CPU, "cpu", wants_cpu, set_cpu },
};

static int apply_limits(const struct cgroup_leaf *leaf, const struct cgroup_limits *limits, struct error *e)
{
	const struct cgroup_host *host = leaf->host;

	for (size_t i = 0; i < ARRAY_SIZE(limit_table); i++) {
		int r = -EOPNOTSUPP; /* stays so where no hierarchy has the controller */

		if (!limit_table[i].wanted(limits))
			continue;
		for (unsigned h = 0; h < host->n; h++)
			if (leaf->dirs[h] >= 0 && host->hierarchies[h].provides & limit_table[i].controller)
				r = limit_table[i].set(leaf->dirs[h], host->hierarchies[h].provides, limits);
		if (r < 0)
			return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, "cgroup",
					 "Start without this limit, or run isod where the controller is handed down to "
					 "it (in systemd: Delegate=yes).",
					 "The %s limit of the policy cannot be set on this machine: %s.",
					 limit_table[i].name, strerror(-r));
	}
	return 0;
}

void cgroup_leaf_close(struct cgroup_leaf *leaf)
{
	for (unsigned i = 0; i < CGROUP_MAX; i++)
		leaf->dirs[i] = fd_close(leaf->dirs[i]);
}

int cgroup_leaf_make(const struct cgroup_host *host, const char *id, const struct cgroup_limits *limits,
		     struct cgroup_leaf *ret, struct error *e)
{
	struct cgroup_leaf leaf = CGROUP_LEAF_INIT;
	int r;

	leaf.host = host;
	snprintf(leaf.name, sizeof(leaf.name), "isod-%s-%s", host->tag, id);
	for (unsigned i = 0; i < host->n; i++) {
		int parent = host->hierarchies[i].parent;

		/* A hierarchy that cannot be written to matters only if a limit needs it. */
		if (mkdirat(parent, leaf.name, 0755) < 0 && errno != EEXIST)
			continue;
		leaf.dirs[i] = open_dir_at(parent, leaf.name);
		if (leaf.dirs[i] < 0)
			leaf.dirs[i] = -1;
	}
	r = apply_limits(&leaf, limits, e);
	if (r < 0) {
		cgroup_leaf_remove(&leaf);
		cgroup_leaf_close(&leaf);
		return r;
	}
	*ret = leaf;
	return 0;
}

static bool is_unified(const struct cgroup_leaf *leaf, unsigned hierarchy)
{
	return leaf->host->hierarchies[hierarchy].provides & CGROUP_UNIFIED;
}

int cgroup_leaf_open_ways(const struct cgroup_leaf *leaf, int fds[CGROUP_MAX], bool *ret_unified)
{
	int n = 0;

	*ret_unified = false;
	for (unsigned i = 0; i < CGROUP_MAX * 2; i++) {
		unsigned h = i % CGROUP_MAX;
		bool unified = i >= CGROUP_MAX;
		int r;

		if (leaf->dirs[h] < 0 || is_unified(leaf, h) != unified)
			continue;
		fds[n] = openat(leaf->dirs[h], unified ? "." : "tasks",
				unified ? O_PATH | O_DIRECTORY | O_CLOEXEC : O_WRONLY | O_CLOEXEC);
		if (fds[n] >= 0) {
			n++;
			*ret_unified = unified;
			continue;
		}
		r = -errno;
		while (n > 0)
			fd_close(fds[--n]);
		return r;
	}
	return n;
}

int cgroup_leaf_kill(const struct cgroup_leaf *leaf)
{
	int r = 0;

	for (unsigned i = 0; i < CGROUP_MAX; i++) {
		unsigned provides;

		if (leaf->dirs[i] < 0)
			continue;
		provides = leaf->host->hierarchies[i].provides;
		if (provides & CGROUP_UNIFIED && cgroup_file_write(leaf->dirs[i], "cgroup.kill", "1") == 0)
			return 0;
		if (provides & CGROUP_FREEZER)
			r = cgroup_file_kill_frozen(leaf->dirs[i]);
	}
	return r;
}

int cgroup_leaf_remove(struct cgroup_leaf *leaf)
{
	int r = 0;

	for (unsigned i = 0; leaf->host && i < leaf->host->n; i++) {
		if (leaf->dirs[i] < 0)
			continue;
		if (unlinkat(leaf->host->hierarchies[i].parent, leaf->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			r = -errno;
		else
			leaf->dirs[i] = fd_close(leaf->dirs[i]);
	}
	return r;
}
