#include "daemon/linux/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/cgroup/cgroup_file.h"
#include "daemon/linux/cgroup/cgroup_unified.h"

static const struct cgroup_unified_controller controllers[] = {
	{ "memory", CGROUP_MEMORY },
	{ "pids", CGROUP_PIDS },
	{ "cpu", CGROUP_CPU },
	{ "freezer", CGROUP_FREEZER }, /* v1 only */
};

/* Finds isod's own group in text, the lines "N:CONTROLLERS:PATH" of /proc/self/cgroup. controller "" is v2. The path
 * returned is relative, and is cut out of text in place; NULL where it is not there or lies outside our view. */
static const char *own_path(char *text, const char *controller)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;
		bool found = path && (controller[0] ? cgroup_file_has_word(list + 1, path - list - 1, ",", controller)
						    : path == list + 1);

		if (found)
			return path[1] == '/' && !strstr(path + 1, "/..") ? path + 2 : NULL;
		if (rest)
			rest[-1] = '\n'; /* the next search wants the text whole */
	}
	return NULL;
}

/* The directory of isod's own group below root, or root itself where it cannot be had. Takes root. */
static int open_own(int root, const char *controller)
{
	_cleanup_free_ char *text = NULL;
	const char *path = NULL;
	int fd;

	if (cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", &text) == 0)
		path = own_path(text, controller);
	if (!path || !path[0])
		return root;
	fd = openat(root, path, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return root;
	fd_close(root);
	return fd;
}

/* Opens mount/name if it is a hierarchy of the given kind. name may be a link, as cpu is to cpu,cpuacct. */
static int open_hierarchy(int mount, const char *name, unsigned long kind)
{
	_cleanup_close_ int fd = openat(mount, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	return (unsigned long)fs.f_type == kind ? take_fd(&fd) : -ENOENT;
}

int cgroup_host_open(struct cgroup_host *host, const char *mount, const char *tag)
{
	_cleanup_close_ int top = open(mount, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	int unified;

	*host = (struct cgroup_host)CGROUP_HOST_INIT;
	if (strlen(tag) != CGROUP_TAG_LEN)
		return -EINVAL;
	memcpy(host->tag, tag, CGROUP_TAG_LEN + 1);
	if (top < 0)
		return errno == ENOENT ? 0 : -errno;
	unified = open_hierarchy(top, ".", CGROUP2_SUPER_MAGIC);
	if (unified < 0)
		unified = open_hierarchy(top, "unified", CGROUP2_SUPER_MAGIC);
	if (unified >= 0) {
		_cleanup_free_ char *text = NULL;
		const char *own =
			cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", &text) == 0 ? own_path(text, "") : NULL;

		cgroup_unified_open(host, unified, own, controllers, CGROUP_HANDED_DOWN_MAX);
	}
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		int fd = open_hierarchy(top, controllers[i].name, CGROUP_SUPER_MAGIC);

		if (fd >= 0)
			host->hierarchies[host->n++] = (struct cgroup_hierarchy){
				open_own(fd, controllers[i].name),
				controllers[i].bit,
			};
	}
	return 0;
}

void cgroup_host_close(struct cgroup_host *host)
{
	for (unsigned i = 0; i < host->n; i++)
		fd_close(host->hierarchies[i].parent);
	host->n = 0;
	cgroup_unified_close(host);
}

static bool is_our_leaf(const struct cgroup_host *host, const char *name)
{
	size_t prefix = strlen("isod-");

	return strncmp(name, "isod-", prefix) == 0 && strncmp(name + prefix, host->tag, CGROUP_TAG_LEN) == 0 &&
	       name[prefix + CGROUP_TAG_LEN] == '-' && strlen(name + prefix + CGROUP_TAG_LEN + 1) == ISOD_ID_LEN;
}

static void sweep_leaf(const struct cgroup_hierarchy *h, const char *name)
{
	_cleanup_close_ int dir = openat(h->parent, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return;
	if (h->provides & CGROUP_UNIFIED)
		cgroup_file_write(dir, "cgroup.kill", "1");
	else if (h->provides & CGROUP_FREEZER)
		cgroup_file_kill_frozen(dir);
	unlinkat(h->parent, name, AT_REMOVEDIR);
}

static void sweep_leaves(const struct cgroup_host *host, const struct cgroup_hierarchy *h)
{
	int copy = openat(h->parent, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	_cleanup_closedir_ DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!d)
		fd_close(copy);
	while (d && (entry = readdir(d)))
		if (is_our_leaf(host, entry->d_name))
			sweep_leaf(h, entry->d_name);
}

void cgroup_host_sweep(const struct cgroup_host *host)
{
	struct cgroup_hierarchy stale = { cgroup_unified_open_stale(host), CGROUP_UNIFIED };

	for (unsigned i = 0; i < host->n; i++)
		sweep_leaves(host, &host->hierarchies[i]);
	if (stale.parent < 0)
		return;
	sweep_leaves(host, &stale);
	fd_close(stale.parent);
	cgroup_unified_remove_stale(host);
}
