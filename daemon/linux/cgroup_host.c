#include "daemon/linux/cgroup.h"

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
#include "daemon/linux/cgroup_file.h"

#define CGROUP_TEXT_MAX (64U << 10)

static const struct {
	const char *name; /* in cgroup.controllers, and the usual folder of its v1 hierarchy */
	unsigned bit;
	bool v2;
} controllers[] = {
	{ "memory", CGROUP_MEMORY, true },
	{ "pids", CGROUP_PIDS, true },
	{ "cpu", CGROUP_CPU, true },
	{ "freezer", CGROUP_FREEZER, false },
};

static int read_text(int dir, const char *name, char **ret)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len;

	return fd < 0 ? -errno : fd_read_file(fd, CGROUP_TEXT_MAX, ret, &len);
}

static bool has_word(const char *list, size_t len, const char *separators, const char *word)
{
	size_t n = strlen(word);

	while (len > 0) {
		size_t part = 0;

		while (part < len && !strchr(separators, list[part]))
			part++;
		if (part == n && memcmp(list, word, n) == 0)
			return true;
		part += part < len;
		list += part;
		len -= part;
	}
	return false;
}

/* Finds isod's own group in text, the lines "N:CONTROLLERS:PATH" of /proc/self/cgroup. controller "" is v2. The path
 * returned is relative, and is cut out of text in place; NULL where it is not there or lies outside our view. */
static const char *own_path(char *text, const char *controller)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;
		bool found = path &&
			     (controller[0] ? has_word(list + 1, path - list - 1, ",", controller) : path == list + 1);

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

	if (read_text(AT_FDCWD, "/proc/self/cgroup", &text) == 0)
		path = own_path(text, controller);
	if (!path || !path[0])
		return root;
	fd = openat(root, path, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return root;
	fd_close(root);
	return fd;
}

static int enable(int dir, const char *name)
{
	return cgroup_file_write(dir, "cgroup.subtree_control", "+%s", name);
}

/* v2 hands a controller down only from a group without processes of its own (the root apart). */
static int move_self_aside(int dir, const char *tag)
{
	char name[sizeof("isod--daemon") + CGROUP_TAG_LEN];
	_cleanup_close_ int leaf = -1;

	snprintf(name, sizeof(name), "isod-%s-daemon", tag);
	if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	leaf = openat(dir, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	return leaf < 0 ? -errno : cgroup_file_write(leaf, "cgroup.procs", "0");
}

static unsigned hand_down(int dir, const char *tag)
{
	_cleanup_free_ char *offered = NULL;
	unsigned provides = CGROUP_UNIFIED;

	if (read_text(dir, "cgroup.controllers", &offered) < 0 || !offered)
		return provides;
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		int r;

		if (!controllers[i].v2 || !has_word(offered, strlen(offered), " \n", controllers[i].name))
			continue;
		r = enable(dir, controllers[i].name);
		if (r == -EBUSY && move_self_aside(dir, tag) == 0)
			r = enable(dir, controllers[i].name);
		if (r == 0)
			provides |= controllers[i].bit;
	}
	return provides;
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
		unified = open_own(unified, "");
		host->hierarchies[host->n++] = (struct cgroup_hierarchy){ unified, hand_down(unified, tag) };
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

void cgroup_host_sweep(const struct cgroup_host *host)
{
	for (unsigned i = 0; i < host->n; i++) {
		int copy = openat(host->hierarchies[i].parent, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		_cleanup_closedir_ DIR *d = copy < 0 ? NULL : fdopendir(copy);
		const struct dirent *entry;

		if (!d)
			fd_close(copy);
		while (d && (entry = readdir(d)))
			if (is_our_leaf(host, entry->d_name))
				sweep_leaf(&host->hierarchies[i], entry->d_name);
	}
}
