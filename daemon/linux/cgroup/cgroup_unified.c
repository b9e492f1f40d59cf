#include "daemon/linux/cgroup/cgroup_unified.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/number.h"
#include "daemon/linux/cgroup/cgroup_file.h"

#define NAME_MAX_LEN (sizeof("isod--daemon") + CGROUP_TAG_LEN)

struct groups {
	int root, own;
	const char *tag;
	const struct cgroup_unified_controller *wanted;
	size_t n;
};

static void group_name(char ret[NAME_MAX_LEN], const char *tag, const char *suffix)
{
	snprintf(ret, NAME_MAX_LEN, "isod-%s%s", tag, suffix);
}

static int open_group(int dir, const char *name)
{
	int fd = openat(dir, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Which of the wanted ones this group could hand down. */
static unsigned offered(const struct groups *g, int dir)
{
	_cleanup_free_ char *text = NULL;
	unsigned bits = 0;

	if (cgroup_file_read(dir, "cgroup.controllers", &text) < 0)
		return 0;
	for (size_t i = 0; i < g->n; i++)
		if (cgroup_file_has_word(text, strlen(text), " \n", g->wanted[i].name))
			bits |= g->wanted[i].bit;
	return bits;
}

static unsigned hand_down(const struct groups *g, int dir, unsigned bits)
{
	unsigned done = 0;

	for (size_t i = 0; i < g->n; i++)
		if (bits & g->wanted[i].bit &&
		    cgroup_file_write(dir, "cgroup.subtree_control", "+%s", g->wanted[i].name) == 0)
			done |= g->wanted[i].bit;
	return done;
}

/* Nobody but this process is in it. */
static bool is_alone(int dir)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;

	if (cgroup_file_read(dir, "cgroup.procs", &text) < 0)
		return false;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		uint64_t pid;

		/* 0: a process of another pid namespace. */
		if (line[0] && (number_parse_u64(line, INT32_MAX, &pid) < 0 || pid != (uint64_t)getpid()))
			return false;
	}
	return true;
}

/* The true root, not that of a container's view, has no type; only there processes do not matter. */
static bool is_true_root(int dir)
{
	return faccessat(dir, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* isod-TAG at the root with all that is in bits handed down to its leaves: its descriptor, or -errno. */
static int make_at_root(const struct groups *g, unsigned bits)
{
	_cleanup_close_ int dir = -1;
	char name[NAME_MAX_LEN];

	group_name(name, g->tag, "");
	if (mkdirat(g->root, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	dir = open_group(g->root, name);
	if (dir < 0)
		return dir;
	if (hand_down(g, g->root, bits) == bits && hand_down(g, dir, bits) == bits)
		return take_fd(&dir);
	unlinkat(g->root, name, AT_REMOVEDIR);
	return -EOPNOTSUPP;
}

static int move_self_aside(const struct groups *g)
{
	_cleanup_close_ int leaf = -1;
	char name[NAME_MAX_LEN];

	group_name(name, g->tag, "-daemon");
	if (mkdirat(g->own, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	leaf = open_group(g->own, name);
	return leaf < 0 ? leaf : cgroup_file_write(leaf, "cgroup.procs", "0");
}

static void move_self_back(int own, const char *tag)
{
	char name[NAME_MAX_LEN];

	group_name(name, tag, "-daemon");
	cgroup_file_write(own, "cgroup.procs", "0");
	unlinkat(own, name, AT_REMOVEDIR);
}

/* Before anything is handed down: with processes inside, pids and cpu alone would succeed and leave a group whose
 * children can hold none. */
static unsigned use_own(struct cgroup_unified *u, const struct groups *g, unsigned bits)
{
	unsigned done;

	if (!bits)
		return 0;
	if (is_true_root(g->own))
		return hand_down(g, g->own, bits);
	if (move_self_aside(g) < 0)
		return 0;
	if (!is_alone(g->own)) { /* it is empty now, but for others */
		move_self_back(g->own, g->tag);
		return 0;
	}
	done = hand_down(g, g->own, bits);
	if (done)
		u->left = fcntl(g->own, F_DUPFD_CLOEXEC, 0);
	else
		move_self_back(g->own, g->tag);
	return done;
}

void cgroup_unified_open(struct cgroup_host *host, int root, const char *own,
			 const struct cgroup_unified_controller *wanted, size_t n)
{
	struct groups g = { .root = root, .own = -1, .tag = host->tag, .wanted = wanted, .n = n };
	struct cgroup_hierarchy *h = &host->hierarchies[host->n++];
	unsigned here, there;
	int dir = -1;

	g.own = open_group(root, own && own[0] ? own : ".");
	if (g.own < 0)
		g.own = open_group(root, ".");
	host->unified.root = root;
	here = offered(&g, g.own);
	there = offered(&g, root);
	if (!is_same(g.own, root) && there != 0 && (!is_alone(g.own) || there & ~here))
		dir = make_at_root(&g, there);
	host->unified.at_root = dir >= 0;
	if (dir < 0) {
		there = use_own(&host->unified, &g, here);
		dir = g.own;
	} else {
		fd_close(g.own);
	}
	for (size_t i = 0; i < n; i++)
		if (there & wanted[i].bit)
			host->unified.handed_down[i] = wanted[i].name;
	*h = (struct cgroup_hierarchy){ dir, CGROUP_UNIFIED | there };
}

void cgroup_unified_close(struct cgroup_host *host)
{
	struct cgroup_unified *u = &host->unified;
	char name[NAME_MAX_LEN];

	if (u->at_root) {
		group_name(name, host->tag, "");
		unlinkat(u->root, name, AT_REMOVEDIR);
	}
	if (u->left >= 0) {
		for (size_t i = 0; i < ARRAY_SIZE(u->handed_down); i++)
			if (u->handed_down[i])
				cgroup_file_write(u->left, "cgroup.subtree_control", "-%s", u->handed_down[i]);
		move_self_back(u->left, host->tag);
	}
	u->root = fd_close(u->root);
	u->left = fd_close(u->left);
	u->at_root = false;
}

int cgroup_unified_open_stale(const struct cgroup_host *host)
{
	char name[NAME_MAX_LEN];

	if (host->unified.root < 0 || host->unified.at_root)
		return -ENOENT;
	group_name(name, host->tag, "");
	return open_group(host->unified.root, name);
}

void cgroup_unified_remove_stale(const struct cgroup_host *host)
{
	char name[NAME_MAX_LEN];

	group_name(name, host->tag, "");
	unlinkat(host->unified.root, name, AT_REMOVEDIR);
}
