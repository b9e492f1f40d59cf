/*
 * The walk over a layer: folders from a stack of paths, so that depth costs memory and no stack, each opened beneath
 * its top without a symlink. What is in the layer decides which folders of the project are looked at.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"
#include "client/layer/layer_path.h"

#define NS_PER_S 1000000000LL

struct folder {
	char *path;
	bool fresh; /* there is none on the host that it is merged with */
};

struct walk {
	const struct layer *layer;
	struct changes *changes;
	struct folder *stack;
	size_t depth;
	size_t room;
};

/* The folder at hand. */
struct here {
	const char *path;
	int upper;
	int host;   /* -1: fresh */
	bool moved; /* the host's was changed since the session began */
};

static int push(struct walk *w, char *path, bool fresh)
{
	if (path && w->depth == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct folder *grown = reallocarray(w->stack, room, sizeof(*grown));

		if (!grown) {
			free(path);
			return -ENOMEM;
		}
		w->stack = grown;
		w->room = room;
	}
	if (!path)
		return -ENOMEM;
	w->stack[w->depth++] = (struct folder){ path, fresh };
	return 0;
}

static bool is_since(const struct walk *w, const struct stat *st)
{
	return st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec >= w->layer->started_ns;
}

static struct change *add(struct walk *w, const char *folder, const char *name, enum change_kind kind,
			  const struct stat *upper, const struct stat *host)
{
	struct change *c = changes_add(w->changes, layer_path_join(folder, name), kind);

	if (!c)
		return NULL;
	if (upper) {
		c->mode = upper->st_mode;
		c->size = upper->st_size;
		c->mtime_ns = upper->st_mtim.tv_sec * NS_PER_S + upper->st_mtim.tv_nsec;
	}
	if (host) {
		change_host_fill(&c->host, host);
		/* What was changed in a folder stands for itself, and keeps it from going. */
		if (is_since(w, host) && (kind == CHANGE_MODE || !S_ISDIR(host->st_mode)))
			c->flags |= CHANGE_CONFLICT;
	}
	return c;
}

static int count_entry(struct walk *w)
{
	return ++w->changes->seen > LIMIT_LAYER_ENTRIES ? -E2BIG : 0;
}

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Takes fd, which may be -errno. */
static DIR *open_entries(int fd)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		fd_close(fd);
	else if (!d)
		errno = -fd;
	return d;
}

/* ---- what goes on the host ---- */

struct gone {
	struct walk *walk;
	char **stack;
	size_t depth, room;
};

static int gone_push(struct gone *g, char *path)
{
	if (path && g->depth == g->room) {
		size_t room = g->room ? 2 * g->room : 16;
		char **grown = reallocarray(g->stack, room, sizeof(*grown));

		if (!grown) {
			free(path);
			return -ENOMEM;
		}
		g->stack = grown;
		g->room = room;
	}
	if (!path)
		return -ENOMEM;
	g->stack[g->depth++] = path;
	return 0;
}

/* All in one folder of the host. One that cannot be read is one that cannot be emptied either: applying says so. */
static int gone_folder(struct gone *g, const char *path)
{
	_cleanup_closedir_ DIR *d =
		open_entries(layer_path_open(g->walk->layer->project_fd, path, O_RDONLY | O_DIRECTORY));
	const struct dirent *entry;
	int r = 0;

	while (d && r == 0 && (entry = readdir(d))) {
		struct stat st;

		if (is_dot(entry->d_name) || fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		r = count_entry(g->walk);
		if (r == 0 && !add(g->walk, path, entry->d_name, CHANGE_DELETED, NULL, &st))
			r = -ENOMEM;
		if (r == 0 && S_ISDIR(st.st_mode))
			r = gone_push(g, layer_path_join(path, entry->d_name));
	}
	return r;
}

/* Everything below path, which is a folder of the host. */
static int gone_below(struct walk *w, const char *path)
{
	struct gone g = { .walk = w };
	int r = gone_push(&g, strdup(path));

	while (r == 0 && g.depth > 0) {
		_cleanup_free_ char *folder = g.stack[--g.depth];

		r = gone_folder(&g, folder);
	}
	while (g.depth > 0)
		free(g.stack[--g.depth]);
	free(g.stack);
	return r;
}

static int gone(struct walk *w, const struct here *at, const char *name, const struct stat *host)
{
	_cleanup_free_ char *path = layer_path_join(at->path, name);

	if (!path || !add(w, at->path, name, CHANGE_DELETED, NULL, host))
		return -ENOMEM;
	return S_ISDIR(host->st_mode) ? gone_below(w, path) : 0;
}

/* ---- one entry of the layer ---- */

static bool is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

/* Set by overlayfs on what it took from below. */
static bool has_origin(int fd)
{
	return fgetxattr(fd, "user.overlay.origin", NULL, 0) >= 0;
}

static bool is_opaque(int fd)
{
	char value = '\0';

	return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static bool modes_differ(const struct stat *a, const struct stat *b)
{
	return (a->st_mode & CHANGE_MODE_BITS) != (b->st_mode & CHANGE_MODE_BITS);
}

/* 1, 0, -ENOMEM. What cannot be read counts as different. */
static int same_content(const struct here *at, const char *name, const struct stat *upper, const struct stat *host)
{
	_cleanup_close_ int a = -1, b = -1;
	int r;

	if (upper->st_size != host->st_size)
		return 0;
	a = layer_path_open(at->upper, name, O_RDONLY);
	b = layer_path_open(at->host, name, O_RDONLY);
	r = a < 0 || b < 0 ? 0 : layer_content_equal(a, b);
	return r == -ENOMEM ? r : r > 0;
}

static int same_target(const struct here *at, const char *name)
{
	_cleanup_free_ char *a = malloc(LIMIT_PATH), *b = malloc(LIMIT_PATH);
	ssize_t n, m;

	if (!a || !b)
		return -ENOMEM;
	n = readlinkat(at->upper, name, a, LIMIT_PATH);
	m = readlinkat(at->host, name, b, LIMIT_PATH);
	return n >= 0 && n == m && memcmp(a, b, (size_t)n) == 0;
}

static void mark_link(const struct here *at, struct change *c, const char *name)
{
	char target[LIMIT_PATH];
	ssize_t n = readlinkat(at->upper, name, target, sizeof(target) - 1);

	if (n >= 0)
		target[n] = '\0';
	if (n < 0 || layer_path_leads_out(c->path, target))
		c->flags |= CHANGE_LEADS_OUT;
}

/* Only whoever can read a file can apply it. */
static void mark_source(const struct here *at, struct change *c, const char *name)
{
	_cleanup_close_ int fd = -1;

	if (S_ISLNK(c->mode)) {
		mark_link(at, c, name);
		return;
	}
	fd = layer_path_open(at->upper, name, O_RDONLY);
	if (fd < 0) {
		c->kind = CHANGE_SPECIAL;
		c->flags |= CHANGE_UNREADABLE;
	} else if (c->kind == CHANGE_NEW) {
		c->flags |= (has_origin(fd) ? CHANGE_COPIED_UP : 0) | (at->moved ? CHANGE_HOST_MOVED : 0);
	}
}

static int compare_same_type(struct walk *w, const struct here *at, const char *name, const struct stat *upper,
			     const struct stat *host)
{
	struct change *c;
	int same = 1;

	if (S_ISREG(upper->st_mode))
		same = same_content(at, name, upper, host);
	else if (S_ISLNK(upper->st_mode))
		same = same_target(at, name);
	if (same < 0)
		return same;
	if (same && (S_ISLNK(upper->st_mode) || !modes_differ(upper, host)))
		return 0;
	c = add(w, at->path, name, same ? CHANGE_MODE : CHANGE_CHANGED, upper, host);
	if (!c)
		return -ENOMEM;
	if (!same)
		mark_source(at, c, name);
	return 0;
}

static int walk_entry(struct walk *w, const struct here *at, const char *name)
{
	struct stat upper, host;
	bool there;
	struct change *c;
	int r = count_entry(w);

	if (r < 0)
		return r;
	/* Gone again: the session still runs. */
	if (fstatat(at->upper, name, &upper, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	there = at->host >= 0 && fstatat(at->host, name, &host, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_whiteout(&upper))
		return there ? gone(w, at, name, &host) : 0;
	if (!S_ISREG(upper.st_mode) && !S_ISDIR(upper.st_mode) && !S_ISLNK(upper.st_mode))
		return add(w, at->path, name, CHANGE_SPECIAL, &upper, there ? &host : NULL) ? 0 : -ENOMEM;
	if (there && (upper.st_mode & S_IFMT) == (host.st_mode & S_IFMT)) {
		r = compare_same_type(w, at, name, &upper, &host);
	} else {
		c = add(w, at->path, name, there ? CHANGE_REPLACED : CHANGE_NEW, &upper, there ? &host : NULL);
		if (!c)
			return -ENOMEM;
		mark_source(at, c, name);
		if (there && S_ISDIR(host.st_mode)) {
			_cleanup_free_ char *path = layer_path_join(at->path, name);

			r = path ? gone_below(w, path) : -ENOMEM;
		}
	}
	if (r == 0 && S_ISDIR(upper.st_mode))
		r = push(w, layer_path_join(at->path, name), !there || !S_ISDIR(host.st_mode));
	return r;
}

/* What the host's folder has and the layer's has not, where the layer's hides it whole. */
static int walk_hidden(struct walk *w, const struct here *at)
{
	_cleanup_closedir_ DIR *d = open_entries(layer_path_open(at->host, "", O_RDONLY | O_DIRECTORY));
	const struct dirent *entry;
	int r = 0;

	while (d && r == 0 && (entry = readdir(d))) {
		struct stat upper, host;

		if (is_dot(entry->d_name) || fstatat(at->upper, entry->d_name, &upper, AT_SYMLINK_NOFOLLOW) == 0 ||
		    fstatat(at->host, entry->d_name, &host, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		r = count_entry(w);
		if (r == 0)
			r = gone(w, at, entry->d_name, &host);
	}
	return r;
}

static int walk_folder(struct walk *w, const struct folder *f)
{
	_cleanup_closedir_ DIR *d = open_entries(layer_path_open(w->layer->upper, f->path, O_RDONLY | O_DIRECTORY));
	_cleanup_close_ int host =
		f->fresh ? -1 : layer_path_open(w->layer->project_fd, f->path, O_RDONLY | O_DIRECTORY);
	struct here at = { .path = f->path, .host = host < 0 ? -1 : host };
	const struct dirent *entry;
	struct stat st;
	int r = 0;

	/* One that cannot be read, or whose path is too long for the system, was marked or is told by the caller. */
	if (!d)
		return errno == ENAMETOOLONG ? -ENAMETOOLONG : 0;
	at.upper = dirfd(d);
	if (host >= 0 && w->layer->leftover)
		(void)unlinkat(host, w->layer->leftover, 0);
	at.moved = host >= 0 && fstat(host, &st) == 0 && is_since(w, &st);
	while (r == 0 && (entry = readdir(d)))
		if (!is_dot(entry->d_name))
			r = walk_entry(w, &at, entry->d_name);
	if (r == 0 && host >= 0 && is_opaque(at.upper))
		r = walk_hidden(w, &at);
	return r;
}

int layer_walk(const struct layer *l, struct changes *c, struct error *e)
{
	struct walk w = { .layer = l, .changes = c };
	int r = push(&w, strdup(""), false);

	while (r == 0 && w.depth > 0) {
		struct folder f = w.stack[--w.depth];

		r = walk_folder(&w, &f);
		free(f.path);
	}
	while (w.depth > 0)
		free(w.stack[--w.depth].path);
	free(w.stack);
	if (r == -E2BIG)
		error_set(e, ERROR_LIMIT, E2BIG, "layer", "Discard it, or run again with a smaller project.",
			  "The layer has more than %u files and folders.", LIMIT_LAYER_ENTRIES);
	else if (r == -ENAMETOOLONG)
		error_set(e, ERROR_LIMIT, ENAMETOOLONG, "layer", "Discard it.",
			  "The layer has a path of more than %u bytes.", LIMIT_PATH);
	return r;
}
