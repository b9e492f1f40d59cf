#include "daemon/linux/watch/launch_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/watch/launch_late_secret.h"
#include "daemon/linux/watch/launch_watch_bare.h"
#include "daemon/linux/watch/launch_watch_event.h"
#include "daemon/linux/watch/launch_watch_folder.h"
#include "daemon/linux/watch/launch_watch_kept.h"
#include "daemon/linux/watch/launch_watch_link.h"
#include "daemon/linux/watch/launch_watch_runs.h"
#include "view/protect.h"

/* A turn of the loop: some 200 events. */
#define TURN_BYTES 16384
/* At the end everybody inside is gone; the host may go on for ever. Some 50,000 events, three times what the kernel
 * holds back. */
#define END_TURNS 256
/* Files that are usually run are looked for at the top of a granted folder and in the folders there (.venv/pyvenv.cfg).
 */
#define RUNS_DEPTH 1

struct launch_watch {
	struct launch_watch_folders folders;
	const struct plan *plan;
	const struct path_rules *rules;
	struct launch_late_report *report;
	struct launch_late_secrets *secrets;
	struct launch_watch_links links;
	bool git;     /* what git runs is protected */
	bool refuses; /* what the rules protect, but for PATH_RULE_EXISTING, cannot be written whatever is mounted */
	bool behind;
	/* LATE_STATE stands for "was there at the start" in the table of what was told. */
	bool again;     /* a look for what was lost: what was there at the start is no news */
	bool partial;   /* the look at the start did not come to all folders, so that none later can tell what is new */
	int64_t looked; /* monotonic seconds of the last look through all */
	unsigned names; /* left to be read in this turn */
	size_t n_queue; /* folders to be looked through */
	int queue[LAUNCH_WATCH_MAX];
};

/* What has happened to one name. */
struct change {
	int folder;                      /* index */
	const struct path_folder *rules; /* of that folder, where many names of it are looked at; else NULL */
	const char *name;
	bool is_folder;
	bool gone;     /* removed, or moved away */
	bool moved;    /* with gone: it has another name now */
	bool appeared; /* made, or moved here */
	bool found;    /* by a look, not by an event: news where it was not there at the start */
	bool known;    /* it was there at the start */
	bool has_file; /* .file is its key */
	uint64_t file;
	pid_t pid;
};

int launch_watch_new(int group, const struct plan *plan, const struct path_rules *rules,
		     struct launch_late_report *report, struct launch_late_secrets *secrets, struct launch_watch **ret)
{
	struct launch_watch *w = calloc(1, sizeof(*w));

	if (w)
		w->folders.items = calloc(LAUNCH_WATCH_MAX, sizeof(*w->folders.items));
	if (!w || !w->folders.items) {
		free(w);
		fd_close(group);
		return -ENOMEM;
	}
	w->folders.group = group;
	w->folders.inotify = -1;
	w->plan = plan;
	w->rules = rules;
	w->report = report;
	w->secrets = secrets;
	for (uint32_t i = 0; i < plan->n_rules; i++)
		w->git |= plan->rules[i].group == PROTECT_GIT_CONFIG;
	*ret = w;
	return 0;
}

static const struct path_rule *rule_at(const struct launch_watch *w, uint32_t index)
{
	return index == PATH_NO_RULE ? NULL : path_rules_get(w->rules, index);
}

static bool is_protected(const struct launch_watch *w, const struct path_verdict *v)
{
	const struct path_rule *rule = rule_at(w, v->write_rule);

	return rule && rule->effect == PATH_DENY_WRITE;
}

static int tell(struct launch_watch *w, uint32_t kind, uint32_t rule, pid_t pid, const char *path)
{
	const struct path_rule *r = rule_at(w, rule);

	return launch_late_report_path(w->report, kind, r ? r->group : 0, pid, path);
}

/* Its lock was there when the session began to start, and is no more. */
static bool is_lost(const struct launch_watch *w, const struct path_verdict *v, const char *path)
{
	if (!is_protected(w, v) || (w->refuses && !(rule_at(w, v->write_rule)->flags & PATH_RULE_EXISTING)))
		return false;
	return !launch_watch_kept(path);
}

static int appeared(struct launch_watch *w, const struct change *c, const struct path_verdict *v, const char *path)
{
	bool host = c->pid == 0;

	if (is_protected(w, v)) {
		if (c->found && c->known)
			return 0;
		return tell(w, host ? LATE_UNPROTECTED : LATE_PLANTED, v->write_rule, c->pid, path);
	}
	if (v->access == PATH_DENIED || host || c->is_folder || w->folders.items[c->folder].depth > RUNS_DEPTH ||
	    (c->found && c->known) || !launch_watch_runs(c->name))
		return 0;
	return tell(w, LATE_RUNS, PATH_NO_RULE, c->pid, path);
}

/* The last part of a bare repository was made; one that was there at the start is never news. HEAD stands for it. */
static int appeared_bare(struct launch_watch *w, const struct change *c)
{
	const struct launch_watch_folder *above = &w->folders.items[c->folder];
	char path[LIMIT_PATH];

	if (!w->git || c->pid == 0 || above->through || above->about || !launch_watch_bare_part(c->name) ||
	    !launch_watch_bare(above->path))
		return 0;
	if (snprintf(path, sizeof(path), "%s/HEAD", above->path) >= (int)sizeof(path))
		return 0;
	if (!c->found || !c->known)
		return launch_late_report_path(w->report, LATE_PLANTED, PROTECT_GIT_CONFIG, c->pid, path);
	launch_late_report_know(w->report, LATE_PLANTED, path);
	return 0;
}

/* Two names of one file, a secret one and another: which came first does not matter. What was there at the start is
 * covered, and a cover cannot be linked. */
static int appeared_link(struct launch_watch *w, const struct change *c, const struct path_verdict *v, const char *path)
{
	const char *secret = path;
	struct path_verdict of_secret;

	if (c->is_folder || (c->found && c->known))
		return 0;
	if (v->access != PATH_DENIED)
		secret = launch_watch_link_find(&w->links, path);
	else if (launch_watch_link_add(&w->links, path) < 2)
		return 0;
	/* What is found in a new folder need not be of who made the folder. */
	if (!secret || (c->pid == 0 && !c->found))
		return 0;
	path_rules_decide(w->rules, secret, PATH_FILE, &of_secret);
	return tell(w, LATE_MOVED, of_secret.read_rule, c->found ? -1 : c->pid, secret);
}

/* By what it is, whatever it will be called. Also what was there at the start: it may be without a cover, having shown
 * no secret then. */
static void remember_secret(struct launch_watch *w, const struct change *c, const struct path_verdict *v,
			    const char *path)
{
	const struct path_rule *rule = rule_at(w, v->read_rule);
	uint64_t key = c->file;
	bool host = c->pid == 0 || (c->found && c->known);

	if (v->access != PATH_DENIED || c->is_folder || !rule)
		return;
	if (!c->has_file && (!c->appeared || launch_late_secret_key_of_path(path, &key) < 0))
		return;
	launch_late_secret_add(w->secrets, key, host ? LAUNCH_LATE_SECRET_HOST : LAUNCH_LATE_SECRET_OWN, path,
			       !(rule->flags & PATH_RULE_IF_TOKEN));
}

static void watch_below(struct launch_watch *w, const struct change *c, const struct path_verdict *v, const char *path)
{
	const struct launch_watch_folder *above = &w->folders.items[c->folder];
	struct launch_watch_folder folder = {
		.path = (char *)path, .depth = above->depth + 1, .through = v->keep, .about = is_protected(w, v)
	};
	int index;

	if (!launch_watch_folder_is_worth(above, &folder, c->name))
		return;
	index = launch_watch_folder_add(&w->folders, &folder);
	if (index >= 0 && w->n_queue < LAUNCH_WATCH_MAX)
		w->queue[w->n_queue++] = index;
}

static int handle(struct launch_watch *w, struct change *c)
{
	const struct launch_watch_folder *above = &w->folders.items[c->folder];
	struct path_verdict v;
	char path[LIMIT_PATH];
	int n = snprintf(path, sizeof(path), "%s/%s", strcmp(above->path, "/") == 0 ? "" : above->path, c->name);
	int r = 0;

	if (n <= 0 || (size_t)n >= sizeof(path))
		return 0;
	if (c->rules)
		path_rules_decide_in(w->rules, c->rules, path, c->is_folder ? PATH_FOLDER : PATH_FILE, &v);
	else
		path_rules_decide(w->rules, path, c->is_folder ? PATH_FOLDER : PATH_FILE, &v);
	remember_secret(w, c, &v, path);
	if (c->gone) {
		launch_late_report_forget(w->report, LATE_STATE, path);
		if (c->is_folder)
			launch_watch_folder_remove(&w->folders, path);
		else if (!c->moved)
			launch_watch_link_remove(&w->links, path);
		if (c->moved && c->pid != 0 && v.access == PATH_DENIED)
			r = tell(w, LATE_MOVED, v.read_rule, c->pid, path);
	}
	if (r < 0 || !c->appeared)
		return r;
	if (w->again && launch_late_report_knows(w->report, LATE_STATE, path))
		c->known = true;
	if (!c->found || !c->known)
		r = appeared(w, c, &v, path);
	else if (is_protected(w, &v) || launch_watch_runs(c->name))
		w->partial |= !launch_late_report_know(w->report, LATE_STATE, path);
	if (r == 0 && c->found && c->known && !w->again && is_lost(w, &v, path))
		r = tell(w, LATE_UNPROTECTED, v.write_rule, 0, path);
	if (r == 0)
		r = appeared_link(w, c, &v, path);
	if (r == 0)
		r = appeared_bare(w, c);
	if (r == 0 && c->is_folder)
		watch_below(w, c, &v, path);
	return r;
}

/* Every name in a folder. Opening a folder asks nobody: only regular files are marked. */
static int look(struct launch_watch *w, int index, bool known, pid_t pid)
{
	int fd = open(w->folders.items[index].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct path_folder rules;
	int r = 0;

	if (!dir) {
		fd_close(fd);
		return 0;
	}
	path_rules_enter(w->rules, w->folders.items[index].path, &rules);
	for (struct dirent *d; r == 0 && w->names > 0 && (d = readdir(dir));) {
		struct change c = { .folder = index,
				    .rules = &rules,
				    .name = d->d_name,
				    .appeared = true,
				    .found = true,
				    .known = known,
				    .pid = pid };

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		w->names--;
		c.is_folder = launch_watch_folder_entry(fd, d);
		r = handle(w, &c);
	}
	return r;
}

/* Breadth first; a folder that vanished meanwhile is passed over. */
static int look_through_queue(struct launch_watch *w, bool known, pid_t pid)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->n_queue; i++)
		if (w->folders.items[w->queue[i]].path)
			r = look(w, w->queue[i], known, pid);
	w->n_queue = 0;
	return r;
}

static bool may_hold_plants(const struct plan_mount *m)
{
	return m->flags & (PLAN_GRANT | PLAN_PROJECT) && m->type == PLAN_MOUNT_BIND && !(m->flags & PLAN_READ_ONLY);
}

/* 1: it cannot be watched. */
static size_t add_root(struct launch_watch *w, const char *path)
{
	int r = launch_watch_folder_add_root(&w->folders, path);

	if (r >= 0)
		w->queue[w->n_queue++] = r;
	return r < 0 && r != -EEXIST && r != -ENOSPC && r != -ENOTDIR;
}

size_t launch_watch_begin(struct launch_watch *w, bool refuses)
{
	size_t n = 0;

	w->refuses = refuses;
	w->names = LAUNCH_WATCH_NAMES;
	for (uint32_t i = 0; i < w->plan->n_mounts && w->n_queue < LAUNCH_WATCH_FOLDERS; i++)
		if (may_hold_plants(&w->plan->mounts[i]))
			n += add_root(w, w->plan->mounts[i].target);
	look_through_queue(w, true, -1);
	w->partial |= w->names == 0;
	return n;
}

/* Names that were neither there at the start nor told are news, of unknown origin. */
static int look_again(struct launch_watch *w)
{
	int r = 0;

	w->behind = false;
	w->names = LAUNCH_WATCH_NAMES;
	w->again = true;
	for (size_t i = 0; r == 0 && i < w->folders.n && !w->partial; i++)
		if (w->folders.items[i].path)
			r = look(w, (int)i, false, -1);
	w->again = false;
	return r < 0 ? r : look_through_queue(w, false, -1);
}

static int lost(struct launch_watch *w)
{
	if (w->behind)
		return 0;
	w->behind = true;
	return launch_late_report_lost(w->report);
}

static int take(struct launch_watch *w, struct change *c)
{
	int r = handle(w, c);

	if (r < 0 || w->n_queue == 0)
		return r;
	/* A new folder may have been filled before it was watched. */
	r = look_through_queue(w, false, c->pid);
	return r < 0 || w->names > 0 ? r : lost(w);
}

/* In each path of the folder. What is added meanwhile lies below one of them. */
static int take_in_each(struct launch_watch *w, const struct change *change, uint64_t folder, bool by_handle)
{
	int r = 0;

	for (int at = -1; r == 0 && (at = launch_watch_folder_by_key(&w->folders, folder, by_handle, at)) >= 0;) {
		struct change c = *change;

		c.folder = at;
		r = take(w, &c);
	}
	return r;
}

static int take_fanotify(struct launch_watch *w, const struct fanotify_event_metadata *e, const char *records)
{
	struct launch_watch_event event;
	struct change c = { .is_folder = e->mask & FAN_ONDIR,
			    .gone = e->mask & (FAN_DELETE | FAN_MOVED_FROM),
			    .moved = e->mask & FAN_MOVED_FROM,
			    .appeared = e->mask & (FAN_CREATE | FAN_MOVED_TO),
			    .pid = e->pid };

	if (e->mask & FAN_Q_OVERFLOW)
		return lost(w);
	if (!launch_watch_event_read(records, e, &event))
		return 0;
	c.name = event.name;
	c.has_file = event.has_file;
	c.file = event.file;
	return take_in_each(w, &c, event.folder, true);
}

/* A buffer of events. How many there were, 0 = none was left, or -errno. */
static int take_some_fanotify(struct launch_watch *w)
{
	_Alignas(struct fanotify_event_metadata) char buffer[TURN_BYTES];
	ssize_t n = w->folders.group < 0 ? 0 : read(w->folders.group, buffer, sizeof(buffer));
	struct launch_watch_events events = { .at = buffer, .left = n > 0 ? (size_t)n : 0 };
	struct fanotify_event_metadata head;
	const char *event;
	int count = 0, r = 0;

	for (; r == 0 && launch_watch_event_next(&events, &head, &event); count++)
		r = take_fanotify(w, &head, event);
	if (r < 0)
		return r;
	return n > 0 && count == 0 ? 1 : count;
}

static int take_inotify(struct launch_watch *w, const struct inotify_event *e)
{
	struct change c = { .name = e->name,
			    .is_folder = e->mask & IN_ISDIR,
			    .gone = e->mask & (IN_DELETE | IN_MOVED_FROM),
			    .moved = e->mask & IN_MOVED_FROM,
			    .appeared = e->mask & (IN_CREATE | IN_MOVED_TO),
			    .pid = -1 };

	if (e->mask & IN_Q_OVERFLOW)
		return lost(w);
	return e->len == 0 ? 0 : take_in_each(w, &c, (uint64_t)e->wd, false);
}

/* One buffer of each. *ret_more: there may be more. */
static int read_some(struct launch_watch *w, bool *ret_more)
{
	_Alignas(struct inotify_event) char buffer[TURN_BYTES];
	ssize_t n;
	int r;

	/* For all events of a turn: folders that are full of names come in faster than they can be read. */
	w->names = LAUNCH_WATCH_NAMES;
	r = take_some_fanotify(w);
	*ret_more = r != 0;
	n = w->folders.inotify < 0 || r < 0 ? 0 : read(w->folders.inotify, buffer, sizeof(buffer));
	*ret_more |= n > 0;
	r = r < 0 ? r : 0;
	for (ssize_t at = 0; r == 0 && at < n;) {
		const struct inotify_event *e = (const void *)(buffer + at);

		r = take_inotify(w, e);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	return r;
}

int launch_watch_catch_up(struct launch_watch *w)
{
	unsigned waiting = launch_watch_event_waiting(w->folders.group);
	int r = 1;

	if (waiting > LAUNCH_WATCH_WAITING)
		return -ENOBUFS;
	w->names = LAUNCH_WATCH_NAMES;
	while (waiting > 0 && r > 0) {
		r = take_some_fanotify(w);
		waiting -= r > 0 && (unsigned)r < waiting ? (unsigned)r : waiting;
	}
	return r < 0 ? r : 0;
}

void launch_watch_poll(const struct launch_watch *w, struct pollfd fds[2])
{
	fds[0] = (struct pollfd){ .fd = w->folders.group, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = w->folders.inotify, .events = POLLIN };
}

bool launch_watch_is_behind(const struct launch_watch *w)
{
	return w->behind;
}

int launch_watch_serve(struct launch_watch *w)
{
	struct timespec now = { 0 };
	bool more;
	int r = read_some(w, &more);

	if (r < 0 || !w->behind || more)
		return r;
	/* Not more than one look a second: somebody who floods must not set the pace. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec == w->looked)
		return 0;
	w->looked = now.tv_sec;
	return look_again(w);
}

void launch_watch_end(struct launch_watch *w)
{
	bool more = true;
	int r = 0;

	for (unsigned i = 0; i < END_TURNS && more && r == 0; i++)
		r = read_some(w, &more);
	if (r == 0 && more)
		r = lost(w);
	if (r == 0 && w->behind)
		look_again(w);
}
