#include "git/git_layout_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "git/git_path.h"
#include "git/git_pointer.h"
#include "git/git_repository.h"

/* A module's name is its path: "third_party/a/b"; nested modules add theirs. */
#define MODULE_DEPTH 12
/* Folders opened in the search for modules, so that a folder of refs with many thousands in it ends. */
#define MODULE_VISITS 4096
#define ALTERNATES_DEPTH 5
#define ALTERNATES_SIZE (64U << 10)

static int add_path(struct git_paths *p, const char *path)
{
	char **grown;

	if (p->count == GIT_LAYOUT_FOLDERS) {
		p->more = true;
		return 0;
	}
	grown = reallocarray(p->items, p->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->items = grown;
	grown[p->count] = strdup(path);
	return grown[p->count] ? (p->count++, 0) : -ENOMEM;
}

/* Takes fd. NULL: it is none that can be listed. */
static DIR *list(int fd)
{
	DIR *d = fdopendir(fd);

	if (!d)
		fd_close(fd);
	return d;
}

static bool is_name(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Does this folder of a linked worktree name one in the project? Then the session may change it. */
static bool is_in_project(int folder, const char *path, const char *project)
{
	char text[GIT_POINTER_MAX], tree[PATH_MAX];
	size_t len;

	if (git_folder_read(folder, "gitdir", text, sizeof(text), &len) != GIT_ACCEPTED ||
	    git_pointer_read_line(text, len, tree, sizeof(tree)) < 0 ||
	    git_path_join(path, tree, tree, sizeof(tree)) < 0)
		return false;
	return git_path_is_within(tree, project);
}

static int scan_worktrees(struct git_layout *l, const char *project)
{
	char folder[PATH_MAX], path[PATH_MAX];
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *entry;
	int fd = -1, r = 0;

	if (git_path_join(l->common, "worktrees", folder, sizeof(folder)) < 0 ||
	    git_folder_open_any(folder, &fd) != GIT_ACCEPTED)
		return 0;
	d = list(fd);
	while (d && r == 0 && !l->worktrees.more && (entry = readdir(d))) {
		_cleanup_close_ int one = -1;

		if (!is_name(entry->d_name) || git_path_join(folder, entry->d_name, path, sizeof(path)) < 0 ||
		    strcmp(path, l->git) == 0 ||
		    git_folder_open_below(dirfd(d), entry->d_name, NULL, &one) != GIT_ACCEPTED)
			continue;
		if (!is_in_project(one, path, project))
			r = add_path(&l->worktrees, path);
	}
	return r;
}

/* The parts of a git folder in which no module can lie. */
static bool is_part_of_repository(const char *name)
{
	static const char *const names[] = {
		"objects", "refs", "logs", "hooks", "info", "branches", "worktrees", "lfs"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

struct module_search {
	struct git_paths *found;
	size_t visits;
};

/* fd: the folder path, taken. Every git folder at or below it, but not below the own parts of one. */
static int search_modules(struct module_search *s, int fd, const char *path, int depth) // NOLINT(misc-no-recursion)
{
	_cleanup_closedir_ DIR *d = NULL;
	bool repository = git_folder_is_repository(fd);
	const struct dirent *entry;
	char below[PATH_MAX];
	int r = repository ? add_path(s->found, path) : 0;

	d = list(fd);
	while (d && r == 0 && !s->found->more && (entry = readdir(d))) {
		int next = -1;

		if (!is_name(entry->d_name) || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    (repository && is_part_of_repository(entry->d_name)) ||
		    git_path_join(path, entry->d_name, below, sizeof(below)) < 0)
			continue;
		if (depth == MODULE_DEPTH || ++s->visits > MODULE_VISITS) {
			s->found->more = true;
			return 0;
		}
		if (git_folder_open_below(dirfd(d), entry->d_name, NULL, &next) == GIT_ACCEPTED)
			r = search_modules(s, next, below, depth + 1);
	}
	return r;
}

static int scan_modules(struct git_layout *l, const char *git)
{
	struct module_search s = { .found = &l->modules };
	char folder[PATH_MAX];
	int fd = -1;

	if (git_path_join(git, "modules", folder, sizeof(folder)) < 0 ||
	    git_folder_open_any(folder, &fd) != GIT_ACCEPTED)
		return 0;
	return search_modules(&s, fd, folder, 0);
}

/* Whose objects they are, and whether a session may read them for that. */
static enum git_refusal check_alternate(struct git_alternate *a, const struct git_user *user)
{
	char parent[PATH_MAX], main_path[PATH_MAX];
	_cleanup_close_ int fd = -1;
	enum git_refusal r;

	if (git_folder_is_forbidden(a->objects, user))
		return GIT_FORBIDDEN_PLACE;
	r = git_folder_open(a->objects, user, &fd);
	if (r != GIT_ACCEPTED)
		return r;
	git_path_parent(a->objects, parent, sizeof(parent));
	if (strcmp(git_path_name(a->objects), "objects") != 0)
		return GIT_NO_REPOSITORY;
	r = git_repository_main(parent, user, main_path, sizeof(main_path), &a->identity);
	if (r != GIT_ACCEPTED)
		return r;
	free(a->repository);
	a->repository = strdup(main_path);
	return GIT_ACCEPTED;
}

static bool is_known(const struct git_layout *l, const char *objects)
{
	for (size_t i = 0; i < l->n_alternates; i++)
		if (strcmp(l->alternates[i].objects, objects) == 0)
			return true;
	return false;
}

static int add_alternate(struct git_layout *l, const char *objects, const char *project, const struct git_user *user)
{
	struct git_alternate *a = &l->alternates[l->n_alternates];

	/* Within the project or the git folder it is there already; but what it names in turn may not be. */
	*a = (struct git_alternate){ .objects = strdup(objects), .repository = strdup("") };
	l->n_alternates++;
	if (!a->objects || !a->repository)
		return -ENOMEM;
	if (!git_path_is_within(objects, project) && !git_path_is_within(objects, l->common))
		a->refusal = check_alternate(a, user);
	return a->repository ? 0 : -ENOMEM;
}

/* The stores that one store of objects names. */
static int scan_alternates_of(struct git_layout *l, const char *objects, const char *project,
			      const struct git_user *user)
{
	_cleanup_free_ char *text = malloc(ALTERNATES_SIZE);
	char path[PATH_MAX], info[PATH_MAX];
	_cleanup_close_ int fd = -1;
	const char *at = text;
	size_t len;
	int r = 0;

	if (!text)
		return -ENOMEM;
	if (git_path_join(objects, "info", info, sizeof(info)) < 0 || git_folder_open_any(info, &fd) != GIT_ACCEPTED ||
	    git_folder_read(fd, "alternates", text, ALTERNATES_SIZE, &len) != GIT_ACCEPTED)
		return 0;
	while (r == 0 && l->n_alternates < GIT_LAYOUT_ALTERNATES) {
		int found = git_pointer_next_alternate(&at, text + len, path, sizeof(path));

		if (found == 0)
			break;
		if (found > 0 && git_path_join(objects, path, path, sizeof(path)) == 0 && !is_known(l, path))
			r = add_alternate(l, path, project, user);
	}
	return r;
}

static int scan_alternates(struct git_layout *l, const char *project, const struct git_user *user)
{
	char objects[PATH_MAX];
	size_t done = 0;
	int r;

	if (git_path_join(l->common, "objects", objects, sizeof(objects)) < 0)
		return 0;
	r = scan_alternates_of(l, objects, project, user);
	for (int depth = 1; r == 0 && depth < ALTERNATES_DEPTH && done < l->n_alternates; depth++) {
		size_t known = l->n_alternates;

		for (; r == 0 && done < known; done++)
			/* One that is refused is not asked for more. */
			if (l->alternates[done].refusal == GIT_ACCEPTED)
				r = scan_alternates_of(l, l->alternates[done].objects, project, user);
	}
	return r;
}

int git_layout_scan(struct git_layout *l, const char *project, const struct git_user *user)
{
	int r = scan_worktrees(l, project);

	if (r == 0)
		r = scan_modules(l, l->common);
	if (r == 0 && strcmp(l->git, l->common) != 0)
		r = scan_modules(l, l->git);
	if (r == 0)
		r = scan_alternates(l, project, user);
	return r;
}
