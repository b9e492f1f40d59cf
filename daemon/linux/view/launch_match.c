#include "daemon/linux/view/launch_match.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/net/launch_reach.h"
#include "daemon/linux/view/launch_source.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/view/launch_target.h"
#include "view/path_pattern.h"
#include "view/path_rules.h"

struct walk {
	struct launch *l;
	uint32_t mount;
	bool device; /* character devices, and nothing else */
	const char *pattern;
	size_t n_entries; /* of all patterns */
	size_t room;
	struct error *e;
};

int launch_match_rules(struct launch *l, struct error *e)
{
	int r = l->plan.n_rules == 0 ? 0 : path_rules_new(l->plan.rules, l->plan.n_rules, &l->rules);

	return r == -EINVAL ? error_set(e, ERROR_INTERNAL, EINVAL, NULL, NULL, "A rule of the plan is none.") : r;
}

/* The part of the pattern that may have a match below folder: what follows folder's components; NULL = none. "**" is
 * never passed. */
static const char *rest_of(const char *pattern, const char *folder)
{
	const char *p = pattern + 1, *f = folder + 1;

	while (*f) {
		size_t n = strcspn(p, "/"), m = strcspn(f, "/");

		if (n == 2 && p[0] == '*' && p[1] == '*')
			return p;
		if (n == 0 || !path_pattern_match_name(p, n, f, m))
			return NULL;
		p += n + (p[n] == '/');
		f += m + (f[m] == '/');
	}
	return *p ? p : NULL;
}

/* The one name that the pattern's component at rest can be; false where it has a wildcard. */
static bool only_name(const char *rest, char *name, size_t size)
{
	char component[LIMIT_PATH];
	size_t n = strcspn(rest, "/");

	if (n >= sizeof(component))
		return false;
	memcpy(component, rest, n);
	component[n] = '\0';
	return path_pattern_unescape(component, name, size) == 0;
}

static int bounded(struct walk *w, size_t n, size_t limit)
{
	if (n < limit)
		return 0;
	return error_set(w->e, ERROR_LIMIT, E2BIG, NULL, "Name the folder instead, or begin the pattern deeper.",
			 "The pattern %s has too many matches, or too many files to look at (%zu).", w->pattern, limit);
}

static int keep(struct walk *w, const char *path, int *fd, bool is_dir)
{
	struct launch *l = w->l;
	const struct launch_target *named = launch_target_at(l, path);
	struct path_verdict v = { .access = PATH_ABSENT };
	struct launch_match *m;
	int r = bounded(w, l->n_matches, LIMIT_MATCHES);

	if (r < 0)
		return r;
	if (l->rules)
		path_rules_decide(l->rules, path, is_dir ? PATH_FOLDER : PATH_FILE, &v);
	if (v.access == PATH_ABSENT || v.access == PATH_DENIED || (named && launch_target_is_mount(named)))
		return 0;
	if (l->n_matches == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct launch_match *matches = reallocarray(l->matches, room, sizeof(*matches));

		if (!matches)
			return -ENOMEM;
		l->matches = matches;
		w->room = room;
	}
	m = &l->matches[l->n_matches];
	*m = (struct launch_match){ .path = strdup(path), .mount = w->mount };
	if (!m->path)
		return -ENOMEM;
	m->tree = (struct launch_tree){ .fd = take_fd(fd), .is_dir = is_dir, .read_only = v.access != PATH_WRITABLE };
	l->n_matches++;
	return 0;
}

static bool is_wanted(const struct walk *w, const struct stat *st)
{
	if (w->device)
		return S_ISCHR(st->st_mode);
	return S_ISDIR(st->st_mode) || S_ISREG(st->st_mode) || S_ISSOCK(st->st_mode);
}

static int walk_folder(struct walk *w, int folder, const char *path);

/* What cannot be opened by the caller, a symlink, a device is no match. */
static int look_at(struct walk *w, int folder, const char *folder_path, const char *name)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = NULL;
	struct stat st;
	bool matches;
	int r;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	r = bounded(w, w->n_entries++, LIMIT_MATCH_ENTRIES);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/%s", folder_path[1] ? folder_path : "", name) < 0)
		return -ENOMEM;
	if (strlen(path) >= LIMIT_PATH)
		return 0;
	matches = path_pattern_match(w->pattern, path);
	if (!matches && !rest_of(w->pattern, path))
		return 0;
	fd = launch_sys_openat2(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : 0;
	if (matches && is_wanted(w, &st)) {
		r = launch_source_check(fd, path, w->e);
		if (r == 0)
			r = keep(w, path, &fd, S_ISDIR(st.st_mode));
		/* Taken along, since graphics cards are for members of "video" and "render". */
		return r == 0 && w->device && fd < 0 ? launch_caller_keep_group(w->l, st.st_gid, w->e) : r;
	}
	return S_ISDIR(st.st_mode) ? walk_folder(w, fd, path) : 0;
}

static int walk_folder(struct walk *w, int folder, const char *path)
{
	const char *rest = rest_of(w->pattern, path);
	char name[LIMIT_NAME];
	struct dirent *entry;
	_cleanup_closedir_ DIR *dir = NULL;
	int fd, r = 0;

	if (!rest)
		return 0;
	if (only_name(rest, name, sizeof(name)))
		return look_at(w, folder, path, name);
	fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -errno : 0;
	dir = fdopendir(fd);
	if (!dir) {
		fd_close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(dir)) != NULL)
		r = look_at(w, dirfd(dir), path, entry->d_name);
	return r;
}

/* The folder in which the search begins: the components before the first wildcard, or before the last one. */
static int prefix_of(const char *pattern, char *ret, size_t size)
{
	char part[LIMIT_PATH];
	size_t end = 0;

	for (const char *at = strchr(pattern + 1, '/'); at; at = strchr(at + 1, '/')) {
		size_t n = (size_t)(at - pattern);

		if (n >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, pattern, n);
		part[n] = '\0';
		if (!path_pattern_is_literal(part))
			break;
		end = n;
	}
	if (end == 0) {
		snprintf(ret, size, "/");
		return 0;
	}
	memcpy(part, pattern, end);
	part[end] = '\0';
	return path_pattern_unescape(part, ret, size);
}

static int find_one(struct walk *w)
{
	char prefix[LIMIT_PATH];
	_cleanup_close_ int fd = -1;
	int r = prefix_of(w->pattern, prefix, sizeof(prefix));

	if (r < 0)
		return r;
	fd = launch_reach(w->l, &w->l->plan.mounts[w->mount], prefix, true, w->e);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES ? 0 : fd;
	return walk_folder(w, fd, prefix);
}

/* A device that is named, and not by a pattern, is meant. */
static int find_device(struct walk *w)
{
	const struct plan *plan = &w->l->plan;
	size_t before = w->l->n_matches;
	int r = find_one(w);

	if (r < 0 || w->l->n_matches > before || !path_pattern_is_literal(w->pattern) ||
	    plan->mounts[w->mount].flags & PLAN_OPTIONAL)
		return r;
	w->l->trees[w->mount].absent = true;
	if (plan->flags & PLAN_DEGRADED)
		return 0;
	return error_set(w->e, ERROR_REFUSED, ENODEV, NULL, NULL, "%s is not a character device that uid %u can reach.",
			 w->pattern, w->l->context->uid);
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct launch_match *)a)->path, ((const struct launch_match *)b)->path);
}

/* A path that several patterns stand for is mounted once: their verdict is the same. */
static void drop_doubles(struct launch *l)
{
	size_t n = 0;

	if (l->n_matches > 0)
		qsort(l->matches, l->n_matches, sizeof(*l->matches), compare);
	for (size_t i = 0; i < l->n_matches; i++) {
		if (n > 0 && strcmp(l->matches[n - 1].path, l->matches[i].path) == 0) {
			fd_close(l->matches[i].tree.fd);
			free(l->matches[i].path);
		} else {
			l->matches[n++] = l->matches[i];
		}
	}
	l->n_matches = n;
}

int launch_match_find(struct launch *l, struct error *e)
{
	struct walk w = { .l = l, .e = e };
	int r = launch_target_index(l);

	if (r == 0)
		r = launch_caller_enter(l->context);
	for (uint32_t i = 0; i < l->plan.n_mounts && r == 0; i++) {
		w.mount = i;
		w.pattern = l->plan.mounts[i].source;
		w.device = l->plan.mounts[i].type == PLAN_MOUNT_DEVICE;
		if (w.device)
			r = find_device(&w);
		else if (l->plan.mounts[i].type == PLAN_MOUNT_MATCHES)
			r = find_one(&w);
	}
	if (r < 0)
		return r;
	r = launch_caller_leave();
	drop_doubles(l);
	return r < 0 ? r : launch_target_index(l);
}
