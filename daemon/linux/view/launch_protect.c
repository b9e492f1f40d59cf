#include "daemon/linux/view/launch_protect.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/view/launch_cover.h"
#include "daemon/linux/view/launch_link.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_target.h"
#include "view/path_rules.h"
#include "view/path_token.h"

/* Somebody who swaps files in a loop is met by as many tries; each is decided in microseconds. */
#define TRIES 64
/* So often in a row a path must be seen to lead nowhere. */
#define ABSENT_TRIES 3

static int protect_error(struct error *e, const char *path, int r)
{
	return launch_step_fail(e, -r, NULL, "%s cannot be protected: %s.", path, strerror(-r));
}

/* One of several that are not below each other. */
static bool is_outermost(const struct launch_deeper *d, const struct launch_target *t)
{
	for (size_t i = 0; i < d->n; i++) {
		size_t len = strlen(d->mounts[i].target->path);

		if (strncmp(d->mounts[i].target->path, t->path, len) == 0 &&
		    (t->path[len] == '/' || t->path[len] == '\0'))
			return false;
	}
	return true;
}

static int copy_of(struct launch *l, const char *path)
{
	_cleanup_close_ int place = launch_caller_open(l->context, l->root_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC,
						       RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);

	if (place < 0)
		return place;
	return launch_sys_open_tree(place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
}

int launch_protect_lift(struct launch *l, const char *path, struct launch_deeper *ret, struct error *e)
{
	size_t n;
	const struct launch_target *below = launch_target_below(l, path, &n);

	*ret = (struct launch_deeper){ 0 };
	for (size_t i = 0; i < n; i++) {
		const struct launch_target *t = &below[i];
		int fd;

		if (!t->tree->attached || !launch_target_is_mount(t) || !is_outermost(ret, t))
			continue;
		if (!ret->mounts) {
			ret->mounts = calloc(n, sizeof(*ret->mounts));
			if (!ret->mounts)
				return -ENOMEM;
		}
		fd = copy_of(l, t->path);
		if (fd < 0)
			return protect_error(e, t->path, fd);
		ret->mounts[ret->n].target = t;
		ret->mounts[ret->n++].fd = fd;
	}
	return 0;
}

int launch_protect_put_back(struct launch *l, struct launch_deeper *d, struct error *e)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct launch_target *t = d->mounts[i].target;
		struct stat st;
		_cleanup_close_ int place = -1;
		int r;

		if (fstat(d->mounts[i].fd, &st) < 0)
			return -errno;
		place = launch_place_open(l, t->path, S_ISDIR(st.st_mode), e);
		if (place < 0)
			return place;
		r = launch_sys_move_mount(d->mounts[i].fd, place);
		if (r == 0 && t->mount->flags & PLAN_GRANT)
			r = launch_place_hold(l, d->mounts[i].fd);
		if (r < 0)
			return protect_error(e, t->path, r);
	}
	return 0;
}

void launch_protect_deeper_done(struct launch_deeper *d)
{
	for (size_t i = 0; i < d->n; i++)
		fd_close(d->mounts[i].fd);
	free(d->mounts);
	*d = (struct launch_deeper){ 0 };
}

/* Mounts of the plan that are still to come below path. */
static bool has_later(const struct launch *l, const char *path)
{
	size_t n;
	const struct launch_target *below = launch_target_below(l, path, &n);

	for (size_t i = 0; i < n; i++)
		if (!below[i].tree->attached && !below[i].tree->absent && below[i].mount->type != PLAN_COVER &&
		    below[i].mount->type != PLAN_LOCK)
			return true;
	return false;
}

/* Where to look, again and again. */
struct where {
	const char *path;
	int folder;       /* that it lies in, or -1: then it is found by path */
	const char *name; /* in the folder */
};

struct found {
	int place; /* O_PATH */
	bool is_dir;
	bool by_link;
	uint64_t device;
	struct stat st;
	char path[LIMIT_PATH]; /* without links */
};

/* The path of what is open, as it is in the view. */
static int path_of(const struct launch *l, int fd, char *path, size_t size)
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof(name), "self/fd/%d", fd);
	n = readlinkat(l->proc_fd, name, path, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size || path[0] != '/')
		return -ENAMETOOLONG;
	path[n] = '\0';
	return 0;
}

/* Not through links; by its folder where that is known, since folders above may be moved meanwhile. */
static int open_plain(const struct launch *l, const struct where *w, uint64_t flags)
{
	if (w->folder >= 0)
		return launch_caller_open(l->context, w->folder, w->name, flags, RESOLVE_NO_SYMLINKS);
	return launch_caller_open(l->context, l->root_fd, w->path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
}

static int find(const struct launch *l, const struct where *w, struct found *f)
{
	int r = open_plain(l, w, O_PATH | O_CLOEXEC);

	f->by_link = r == -ELOOP;
	if (f->by_link)
		r = launch_caller_open(l->context, l->root_fd, w->path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
	if (r < 0)
		return r;
	f->place = r;
	if (fstat(f->place, &f->st) < 0)
		return -errno;
	f->is_dir = S_ISDIR(f->st.st_mode);
	f->device = f->st.st_dev;
	if (f->by_link)
		return path_of(l, f->place, f->path, sizeof(f->path));
	snprintf(f->path, sizeof(f->path), "%s", w->path);
	return 0;
}

/* What cannot be read counts as a file with a secret: its owner can make it readable later. */
static bool has_token(const struct launch *l, const struct where *w, const struct found *f)
{
	const uint64_t flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	_cleanup_close_ int fd = f->by_link
					 ? launch_caller_open(l->context, l->root_fd, f->path, flags, RESOLVE_IN_ROOT)
					 : open_plain(l, w, flags);
	_cleanup_free_ char *head = malloc(PATH_TOKEN_HEAD);
	struct stat st;
	ssize_t n;

	if (fd < 0 || !head || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return true;
	n = fd_read_full(fd, head, PATH_TOKEN_HEAD);
	return n < 0 || path_token_found(w->path, head, (size_t)n, st.st_size <= n);
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Do the rules mean what is there, a file or a folder, with a token or without? Changes *how; false = nothing to do. */
static bool is_meant(const struct launch *l, const struct where *w, const struct found *f, enum launch_protection *how)
{
	struct path_verdict v;

	if (!l->rules)
		return true;
	path_rules_decide(l->rules, w->path, f->is_dir ? PATH_FOLDER : PATH_FILE, &v);
	if (!f->is_dir && v.access == PATH_DENIED &&
	    path_rules_get(l->rules, v.read_rule)->flags & PATH_RULE_IF_TOKEN && !has_token(l, w, f))
		path_rules_decide(l->rules, w->path, PATH_FILE_WITHOUT_TOKEN, &v);
	if (*how == LAUNCH_COVER)
		return v.access == PATH_DENIED || v.access == PATH_ABSENT;
	/* A layer for a single name cannot be made here: it is not written to, then. */
	if (*how == LAUNCH_LOCK_READ_ONLY &&
	    (v.access == PATH_WRITABLE || (v.access == PATH_OVERLAID && is_overlay(f->place)))) {
		*how = LAUNCH_LOCK;
		return v.keep;
	}
	return true;
}

void launch_protect_forget_anew(struct launch *l)
{
	for (size_t i = 0; i < l->n_anew; i++)
		free(l->anew[i]);
	free(l->anew);
	l->anew = NULL;
	l->n_anew = 0;
}

static int note_anew(struct launch *l, const char *path)
{
	char **anew = reallocarray(l->anew, l->n_anew + 1, sizeof(*anew));

	if (!anew)
		return -ENOMEM;
	l->anew = anew;
	l->anew[l->n_anew] = strdup(path);
	return l->anew[l->n_anew] && ++l->n_anew ? 0 : -ENOMEM;
}

/* What is a copy now: the grants that were put back, and a folder above which a link led to be locked. */
static int note_copies(struct launch *l, const struct found *f, enum launch_protection how,
		       const struct launch_deeper *deeper)
{
	int r = f->is_dir && f->by_link && how != LAUNCH_COVER ? note_anew(l, f->path) : 0;

	for (size_t i = 0; i < deeper->n && r == 0; i++)
		if (deeper->mounts[i].target->mount->flags & PLAN_GRANT)
			r = note_anew(l, deeper->mounts[i].target->path);
	return r;
}

static int mount_over(struct launch *l, const struct found *f, enum launch_protection how, uint64_t *ret_id,
		      struct error *e)
{
	struct launch_deeper deeper = { 0 };
	int r = f->is_dir ? launch_protect_lift(l, f->path, &deeper, e) : 0;

	if (r == 0 && how == LAUNCH_COVER)
		r = launch_cover_attach(l, f->place, f->is_dir, deeper.n > 0 || has_later(l, f->path), ret_id);
	else if (r == 0)
		r = launch_cover_lock(l, f->place, how == LAUNCH_LOCK_READ_ONLY, ret_id);
	if (r == 0)
		r = launch_protect_put_back(l, &deeper, e);
	if (r == 0)
		r = note_copies(l, f, how, &deeper);
	launch_protect_deeper_done(&deeper);
	return r;
}

static bool is_above(const char *folder, const char *path)
{
	size_t n = strlen(folder);

	return strncmp(folder, path, n) == 0 && path[n] == '/';
}

/* The link itself, so that it leads to the same for as long as the session lives. Where it leads to a folder above,
 * that is shown by another mount now, in which the link is to be found by its path. */
static int hold_link(struct launch *l, const struct where *w, const char *leads_to)
{
	bool by_path = w->folder < 0 || is_above(leads_to, w->path);
	_cleanup_close_ int link =
		launch_caller_open(l->context, by_path ? l->root_fd : w->folder, by_path ? w->path : w->name,
				   O_PATH | O_NOFOLLOW | O_CLOEXEC, by_path ? RESOLVE_IN_ROOT : 0);
	struct stat st;
	uint64_t id;

	if (link < 0 || fstat(link, &st) < 0)
		return link < 0 ? link : -errno;
	return S_ISLNK(st.st_mode) ? launch_cover_lock(l, link, false, &id) : 0;
}

/* Looks it up once more: is it our mount that the name leads to? */
static int leads_to(const struct launch *l, const struct where *w, uint64_t id)
{
	struct found f = { .place = -1 };
	uint64_t now = 0;
	int r = find(l, w, &f);

	if (r == 0)
		r = launch_place_mount_id(f.place, &now);
	fd_close(f.place);
	return r < 0 ? r : (now == id ? 0 : -EAGAIN);
}

/* 0 = done; -EAGAIN = look again; -ENOENT = it leads nowhere just now. */
static int protect_once(struct launch *l, const struct where *w, enum launch_protection how, struct error *e)
{
	struct found f = { .place = -1 };
	uint64_t id;
	int r = find(l, w, &f);

	if (r == 0 && f.device != l->covers_device && (!f.by_link || launch_target_is_granted(l, f.path)) &&
	    is_meant(l, w, &f, &how)) {
		r = mount_over(l, &f, how, &id, e);
		if (r == 0 && f.by_link && how != LAUNCH_COVER)
			r = hold_link(l, w, f.path);
		if (r == 0)
			r = leads_to(l, w, id);
		if (r == 0)
			launch_link_add(&f.st, w->path);
		if (r == 0 && how == LAUNCH_COVER)
			l->n_covered++;
		else if (r == 0)
			l->n_locked++;
		/* What was there a moment ago has been moved away. */
		if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
			r = -EAGAIN;
	} else if (r == -ENOTDIR || r == -ELOOP) {
		r = -ENOENT;
	}
	fd_close(f.place);
	return r;
}

static int protect(struct launch *l, const struct where *w, enum launch_protection how, struct error *e)
{
	struct error why;
	int absent = 0, r = -EAGAIN;

	for (int i = 0; i < TRIES && absent < ABSENT_TRIES; i++) {
		why = (struct error)ERROR_INIT;
		r = protect_once(l, w, how, &why);
		if (r != -EAGAIN && r != -ENOENT)
			break;
		absent = r == -ENOENT ? absent + 1 : 0;
	}
	if (absent == ABSENT_TRIES)
		return 0;
	if (r == -EAGAIN || r == -ENOENT)
		return launch_step_fail(e, EAGAIN, "Look for the program on the host that does so.",
					"%s is changed all the time and cannot be protected.", w->path);
	if (r < 0 && why.code != ERROR_NONE)
		*e = why;
	return r < 0 ? protect_error(e, w->path, r) : 0;
}

int launch_protect_path(struct launch *l, const char *path, enum launch_protection how, struct error *e)
{
	const struct where w = { .path = path, .folder = -1 };

	return protect(l, &w, how, e);
}

int launch_protect_in(struct launch *l, int folder, const char *path, enum launch_protection how, struct error *e)
{
	const struct where w = { .path = path, .folder = folder, .name = strrchr(path, '/') + 1 };

	return protect(l, &w, how, e);
}
