#include "daemon/linux/view/launch_search.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/view/launch_folder.h"
#include "daemon/linux/view/launch_moves.h"
#include "daemon/linux/view/launch_protect.h"
#include "daemon/linux/view/launch_search_bound.h"
#include "daemon/linux/view/launch_search_rules.h"
#include "daemon/linux/view/launch_source.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_target.h"
#include "view/path_rules.h"

/* Entries that one call brings: a page of them costs as much as a single one. */
#define ENTRIES_SIZE (64U << 10)
/* Where moves are not told: looks at a tree that changes meanwhile, and entries in all of them. */
#define PASSES 32
#define PASSES_ENTRIES 200000
/* Where they are: seconds for somebody who moves things all the time. */
#define MOVES_SECONDS 2
/* Folders after which it is looked how many of their events wait. */
#define WAITING_EVERY 64

/* What getdents64 fills in. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

struct search {
	struct launch *l;
	struct launch_moves *moves;          /* NULL: moves are not told */
	struct launch_folder_queue writable; /* before the others: what must be locked lies there */
	struct launch_folder_queue others;
	unsigned passes;
	bool again;   /* some of what is met now is protected already */
	bool gone;    /* something went away before it was looked at */
	bool is_news; /* something was met that had not been met before */
	size_t n_all; /* entries of all passes */
	size_t n_entries;
	size_t n_made;
	size_t n_read; /* folders */
	struct launch_moved moved;
	size_t limit;
	bool full;                 /* as many entries as may be were looked at */
	int at;                    /* the folder that is read, -1 = none */
	struct path_folder folder; /* its path, which is the beginning of path */
	bool is_store;             /* of git's contents */
	char path[LIMIT_PATH];
	char buffer[ENTRIES_SIZE] __attribute__((aligned(8)));
};

static void pass_over(struct search *s, enum path_access around)
{
	if (launch_search_is_writable(around))
		s->l->n_not_kept++;
	else
		s->l->n_not_searched++;
}

static int add_folder(struct search *s, int at, const char *path, enum path_access access, bool by_link)
{
	struct launch_folder *f = launch_folder_new(s->l, s->moves, at, path, access, by_link);

	if (!f)
		return -ENOMEM;
	if (s->writable.bytes + s->others.bytes + f->size > LIMIT_SEARCH_BYTES) {
		pass_over(s, access);
		launch_folder_free(f);
		return 0;
	}
	launch_folder_put(launch_search_is_writable(access) ? &s->writable : &s->others, f);
	return 0;
}

/* By the folder that is read, if path lies in it; a link is followed by path. */
static int open_entry(const struct search *s, const char *path)
{
	const struct launch *l = s->l;
	int r = -ELOOP;

	if (path == s->path && s->at >= 0)
		r = launch_caller_open(l->context, s->at, s->path + s->folder.len + 1, O_PATH | O_CLOEXEC,
				       RESOLVE_NO_SYMLINKS);
	return r != -ELOOP ? r : launch_caller_open(l->context, l->root_fd, path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
}

/* What a name leads to: the kind by which rules are asked. 1 = nothing. */
static int kind_of(const struct search *s, const char *path, enum path_kind *ret)
{
	_cleanup_close_ int fd = open_entry(s, path);
	struct stat st;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	*ret = S_ISDIR(st.st_mode) ? PATH_FOLDER : PATH_FILE;
	return 0;
}

/* A mount lies there: one of ours. */
static bool is_mount_root(const struct search *s, const char *path)
{
	_cleanup_close_ int fd = open_entry(s, path);
	struct statx st;

	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, 0, &st) == 0 &&
	       st.stx_attributes & st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT;
}

/* What is at path in the view is looked through again, under that path. */
static int read_again(struct search *s, const char *path)
{
	const struct launch_target *t = launch_target_around(s->l, path);
	struct path_verdict v;

	if (!t)
		return 0;
	path_rules_decide(s->l->rules, path, PATH_FOLDER, &v);
	if (v.access == PATH_DENIED || !path_rules_concern_below(s->l->rules, path))
		return 0;
	s->again = true;
	return add_folder(s, -1, path, v.access == PATH_ABSENT ? launch_search_access(t) : v.access, false);
}

static int protect_once(struct search *s, const char *path, int how, struct error *e)
{
	struct launch *l = s->l;
	int r;

	r = path == s->path && s->at >= 0 ? launch_protect_in(l, s->at, path, (enum launch_protection)how, e)
					  : launch_protect_path(l, path, (enum launch_protection)how, e);
	/* Folders that wait are those of mounts that nobody sees any more. */
	for (size_t i = 0; i < l->n_anew && r == 0; i++)
		r = read_again(s, l->anew[i]);
	launch_protect_forget_anew(l);
	return r;
}

static int protect(struct search *s, const char *path, int how, enum path_access around, struct error *e)
{
	struct launch *l = s->l;
	const struct launch_target *t = how < 0 ? NULL : launch_target_at(l, path);

	if (how < 0)
		return 0;
	/* By the plan, or met before; unless the host has put something else in its place since. */
	if ((s->again || (t && (t->mount->type == PLAN_COVER || t->mount->type == PLAN_LOCK))) &&
	    is_mount_root(s, path))
		return 0;
	if (s->n_made++ >= LIMIT_COVERS) {
		pass_over(s, around);
		return 0;
	}
	return protect_once(s, path, how, e);
}

/* s->path is the entry's. */
static int look_at_entry(struct search *s, const struct launch_folder *f, unsigned type, struct error *e)
{
	enum path_kind kind = type == DT_DIR ? PATH_FOLDER : PATH_FILE;
	struct path_verdict v;
	int how, r;

	/* Whether the rules care at all is asked before anything is opened. */
	path_rules_decide_in(s->l->rules, &s->folder, s->path, kind, &v);
	how = launch_search_protection(&v, f->access);
	if (how < 0 && kind == PATH_FILE && type != DT_LNK && type != DT_UNKNOWN)
		return 0;
	if (launch_search_is_mounted(s->l, s->path))
		return 0;
	if (type == DT_LNK || type == DT_UNKNOWN || how >= 0) {
		struct path_verdict as_folder = v;

		if (type == DT_LNK && how < 0) {
			path_rules_decide(s->l->rules, s->path, PATH_FOLDER, &as_folder);
			how = launch_search_protection(&as_folder, f->access);
		}
		if (how < 0 && type != DT_UNKNOWN)
			return 0;
		r = kind_of(s, s->path, &kind);
		/* A link may have led nowhere all the time. */
		s->gone |= r > 0 && type != DT_LNK;
		if (r != 0)
			return r < 0 ? r : 0;
		path_rules_decide(s->l->rules, s->path, kind, &v);
		how = launch_search_protection(&v, f->access);
	}
	r = protect(s, s->path, how, f->access, e);
	if (r < 0 || kind != PATH_FOLDER || v.access == PATH_DENIED || !path_rules_concern_below(s->l->rules, s->path))
		return r;
	if (type == DT_LNK && (f->by_link || how < 0))
		return 0;
	return add_folder(s, s->at, s->path, v.access == PATH_ABSENT ? f->access : v.access, type == DT_LNK);
}

static int skip(struct search *s, const struct launch_folder *f, int err, struct error *e)
{
	const char *folder = f->path;
	struct launch *l = s->l;

	pass_over(s, f->access);
	if (!l->unsearched) {
		l->unsearched = strdup(folder);
		l->unsearched_err = err;
	}
	if (!l->unsearched)
		return -ENOMEM;
	return launch_search_bound_skipped(l, e);
}

/* Makes s->path the entry's; false = it is too long for a path. */
static bool append_name(struct search *s, const char *name)
{
	size_t n = strlen(name);

	if (s->folder.len + 1 + n >= sizeof(s->path))
		return false;
	s->path[s->folder.len] = '/';
	memcpy(s->path + s->folder.len + 1, name, n + 1);
	return true;
}

static int look_at(struct search *s, const struct launch_folder *f, const char *name, unsigned type, struct error *e)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (++s->n_entries > s->limit) {
		s->full = true;
		return 0;
	}
	/* Longer than what any call takes; reached by relative names only. */
	if (!append_name(s, name))
		return skip(s, f, ENAMETOOLONG, e);
	if (s->is_store && strcmp(name, "info") != 0)
		return 0;
	return look_at_entry(s, f, type, e);
}

/* -ENOENT = not to be looked through: there is none, or it has been. */
static int open_folder(struct search *s, struct launch_folder *f)
{
	_cleanup_close_ int fd = launch_folder_open(s->l, f);
	struct statfs fs;
	int r;

	/* Gone, or swapped for something else, meanwhile. */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -ESTALE) {
		s->gone |= fd != -ESTALE;
		return -ENOENT;
	}
	if (fd < 0)
		return fd;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	/* Of the kernel's: covered by a later step. */
	if (launch_source_is_special((uint64_t)fs.f_type))
		return -ENOENT;
	r = s->moves ? launch_moves_enter(s->moves, fd, f->path) : 0;
	if (r < 0)
		return r;
	s->is_news |= r == 0;
	return r == 0 ? take_fd(&fd) : -ENOENT;
}

static void enter(struct search *s, const struct launch_folder *f, int fd)
{
	path_rules_enter(s->l->rules, f->path, &s->folder);
	s->is_store = launch_search_is_store(f);
	s->at = fd;
	memcpy(s->path, f->path, s->folder.len);
}

static int read_folder(struct search *s, struct launch_folder *f, struct error *e)
{
	_cleanup_close_ int fd = open_folder(s, f);
	long n = 0;
	int r = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : skip(s, f, -fd, e);
	enter(s, f, fd);
	while (r == 0 && !s->full && (n = syscall(SYS_getdents64, fd, s->buffer, sizeof(s->buffer))) > 0)
		for (long at = 0; at < n && r == 0 && !s->full;) {
			const struct entry *entry = (const struct entry *)(s->buffer + at);

			r = look_at(s, f, entry->name, entry->type, e);
			at += entry->length;
		}
	s->at = -1;
	/* A folder that is removed while it is read has no entries. */
	return r < 0 || n >= 0 || errno == ENOENT ? r : -errno;
}

static int add_grant(struct search *s, const struct launch_target *t, struct error *e)
{
	enum path_access around = launch_search_access(t);
	struct path_verdict v;
	int r;

	path_rules_decide(s->l->rules, t->path, t->tree->is_dir ? PATH_FOLDER : PATH_FILE, &v);
	if (v.access == PATH_DENIED || (v.access == PATH_READABLE && launch_search_is_writable(around))) {
		r = protect(s, t->path, launch_search_protection(&v, around), around, e);
		if (r < 0 || v.access == PATH_DENIED)
			return r;
	}
	if (!t->tree->is_dir || !path_rules_concern_below(s->l->rules, t->path))
		return 0;
	return add_folder(s, -1, t->path, v.access == PATH_ABSENT ? around : v.access, false);
}

/* The project first: it is what the session is about. */
static int add_grants(struct search *s, bool project, struct error *e)
{
	int r = 0;

	for (size_t i = 0; i < s->l->n_targets && r == 0; i++) {
		const struct launch_target *t = &s->l->targets[i];

		if (t->tree->attached && t->mount->flags & PLAN_GRANT &&
		    project == ((t->mount->flags & PLAN_PROJECT) != 0))
			r = add_grant(s, t, e);
	}
	return r;
}

/* A name that something was moved to, in a folder that may have been read before. */
static int look_at_moved(struct search *s, const struct launch_moved *moved, struct error *e)
{
	const struct launch_target *t = launch_target_around(s->l, moved->folder);
	_cleanup_free_ struct launch_folder *f = NULL;
	struct path_verdict v;
	int r;

	if (!t)
		return 0;
	path_rules_decide(s->l->rules, moved->folder, PATH_FOLDER, &v);
	if (v.access == PATH_DENIED)
		return 0;
	f = launch_folder_new(s->l, NULL, -1, moved->folder,
			      v.access == PATH_ABSENT ? launch_search_access(t) : v.access, false);
	if (!f)
		return -ENOMEM;
	enter(s, f, moved->fd);
	r = look_at(s, f, moved->name, DT_UNKNOWN, e);
	s->at = -1;
	return r;
}

/* All that was moved so far. Not left for later where so much waits: others move things, too, and their news is dropped
 * as it is read. */
static int look_at_moves(struct search *s, struct error *e)
{
	int r = 0;

	s->again = true;
	while (r == 0 && launch_moves_next(s->moves, s->l, &s->moved) > 0) {
		r = look_at_moved(s, &s->moved, e);
		fd_close(s->moved.fd);
	}
	return r;
}

/* All that waits, and what is found in it. */
static int read_folders(struct search *s, struct error *e)
{
	struct launch_folder *f;
	int r = 0;

	while ((f = launch_folder_take(s->writable.first ? &s->writable : &s->others))) {
		if (r == 0 && !s->full)
			r = read_folder(s, f, e);
		/* The one in which it ended, too. */
		if (s->full)
			pass_over(s, f->access);
		launch_folder_free(f);
		if (r == 0 && s->moves && ++s->n_read % WAITING_EVERY == 0 &&
		    launch_moves_waiting(s->moves) > LAUNCH_MOVES_WAITING)
			r = look_at_moves(s, e);
	}
	return r;
}

static int search_once(struct search *s, struct error *e)
{
	int r;

	s->again = s->passes++ > 0;
	s->gone = s->full = false;
	s->n_entries = 0;
	s->l->n_not_searched = s->l->n_not_kept = 0;
	free(s->l->unsearched);
	s->l->unsearched = NULL;
	r = add_grants(s, true, e);
	if (r == 0)
		r = add_grants(s, false, e);
	if (r == 0)
		r = read_folders(s, e);
	s->n_all += s->n_entries;
	return r;
}

/* Without being told of moves: what went away before it was looked at may be anywhere. Who moves folders to and fro
 * hides one from all passes by luck alone. */
static int search_again(struct search *s, struct error *e)
{
	int r = 0;

	while (r == 0 && s->gone && !s->full && s->n_all < PASSES_ENTRIES && s->passes < PASSES)
		r = search_once(s, e);
	return r;
}

/* What is moved all the time, or more than may be looked at, may not have been met. */
static void give_up(struct search *s)
{
	if (s->full)
		pass_over(s, PATH_WRITABLE);
	else if (s->gone || s->is_news || launch_moves_has_missed(s->moves))
		launch_search_bound_moving(s->l);
}

/* Until in all that was moved up to a moment there is nothing that was not met. */
static int follow_moves(struct search *s, struct error *e)
{
	struct timespec began, now;
	bool more = true;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &began);
	now = began;
	s->again = true;
	s->gone = s->is_news = false;
	while (r == 0 && !s->full && (more || s->gone || s->is_news) && now.tv_sec - began.tv_sec <= MOVES_SECONDS) {
		/* A round is over. */
		if (!more)
			s->gone = s->is_news = false;
		more = launch_moves_next(s->moves, s->l, &s->moved) > 0;
		if (more) {
			r = look_at_moved(s, &s->moved, e);
			fd_close(s->moved.fd);
			if (r == 0)
				r = read_folders(s, e);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	if (r == 0 && now.tv_sec - began.tv_sec > MOVES_SECONDS)
		s->gone = true;
	give_up(s);
	return r;
}

static int search_all(struct search *s, struct error *e)
{
	int r = search_once(s, e);

	if (r < 0)
		return r;
	if (!s->moves || launch_moves_is_blind(s->moves)) {
		launch_moves_free(s->moves);
		s->moves = NULL;
		return search_again(s, e);
	}
	return follow_moves(s, e);
}

int launch_search(struct launch *l, struct error *e)
{
	_cleanup_free_ struct search *s = malloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	if (!l->rules)
		return 0;
	*s = (struct search){ .l = l, .at = -1, .moves = launch_moves_new() };
	s->limit = l->search_guard ? LIMIT_SEARCH_GUARDED : LIMIT_SEARCH;
	launch_folder_queue_init(&s->writable);
	launch_folder_queue_init(&s->others);
	r = search_all(s, e);
	launch_moves_free(s->moves);
	return r < 0 ? r : launch_search_bound_found(l, e);
}
