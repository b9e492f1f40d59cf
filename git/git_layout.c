#include "git/git_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "git/git_layout_scan.h"
#include "git/git_path.h"
#include "git/git_pointer.h"
#include "git/git_repository.h"

/* Folders are looked at one by one on the way up, as git does; a path has no more. */
#define LEVELS (PATH_MAX / 2)

static void refuse(struct git_layout *l, enum git_refusal r, const char *path)
{
	if (l->refusal != GIT_ACCEPTED)
		return;
	l->refusal = r;
	snprintf(l->about, sizeof(l->about), "%s", path);
}

/* The text of a pointer file as an absolute path. folder: the one that holds it. */
static enum git_refusal read_pointer(int at, const char *name, const char *folder, bool gitfile, char *ret,
				     size_t ret_size)
{
	char text[GIT_POINTER_MAX], path[PATH_MAX];
	enum git_refusal r;
	size_t len;

	r = git_folder_read(at, name, text, sizeof(text), &len);
	if (r != GIT_ACCEPTED)
		return r;
	if ((gitfile ? git_pointer_read_gitfile(text, len, path, sizeof(path))
		     : git_pointer_read_line(text, len, path, sizeof(path))) < 0)
		return GIT_NO_POINTER;
	return git_path_join(folder, path, ret, ret_size) < 0 ? GIT_NO_POINTER : GIT_ACCEPTED;
}

/* The same file, by name and by number. */
static bool is_file(const char *path, int at, const char *name)
{
	_cleanup_close_ int folder = -1;
	char parent[PATH_MAX];
	struct stat a, b;

	git_path_parent(path, parent, sizeof(parent));
	if (strcmp(parent, "/") == 0 || git_folder_open_any(parent, &folder) != GIT_ACCEPTED)
		return false;
	return fstatat(folder, git_path_name(path), &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(at, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* l->git is the folder of a linked worktree: COMMON/worktrees/NAME, whose gitdir names our .git file. */
static enum git_refusal follow_worktree(struct git_layout *l, int git, int top, const struct git_user *user)
{
	char path[PATH_MAX], expected[PATH_MAX];
	_cleanup_close_ int common = -1;
	enum git_refusal r;

	r = read_pointer(git, "commondir", l->git, false, l->common, sizeof(l->common));
	if (r != GIT_ACCEPTED)
		return r;
	git_path_parent(l->git, path, sizeof(path));
	if (git_path_join(l->common, "worktrees", expected, sizeof(expected)) < 0 || strcmp(path, expected) != 0)
		return GIT_NOT_POINTED_BACK;
	if (git_folder_is_forbidden(l->common, user))
		return GIT_FORBIDDEN_PLACE;
	r = git_folder_open(l->common, user, &common);
	if (r != GIT_ACCEPTED)
		return r;
	if (!git_folder_is_repository(common))
		return GIT_NO_REPOSITORY;
	r = read_pointer(git, "gitdir", l->git, false, path, sizeof(path));
	if (r != GIT_ACCEPTED || !is_file(path, top, ".git"))
		return GIT_NOT_POINTED_BACK;
	return GIT_ACCEPTED;
}

/* l->git is a whole git folder. One of a submodule says where its work tree is; that must be ours. */
static enum git_refusal follow_module(struct git_layout *l, int git)
{
	char path[PATH_MAX];
	int r;

	memcpy(l->common, l->git, sizeof(l->common));
	if (!git_folder_is_repository(git))
		return GIT_NO_REPOSITORY;
	r = git_repository_work_tree(git, path, sizeof(path));
	l->kind = GIT_SEPARATE;
	if (r == -ENOENT)
		return GIT_ACCEPTED;
	l->kind = GIT_SUBMODULE;
	if (r < 0)
		return GIT_NO_POINTER;
	if (git_path_join(l->git, path, path, sizeof(path)) < 0 || strcmp(path, l->top) != 0)
		return GIT_NOT_POINTED_BACK;
	return GIT_ACCEPTED;
}

static enum git_refusal follow_checked(struct git_layout *l, int top, const struct git_user *user)
{
	_cleanup_close_ int git = -1;
	enum git_refusal r;
	struct stat st;

	if (git_folder_is_forbidden(l->git, user))
		return GIT_FORBIDDEN_PLACE;
	r = git_folder_open(l->git, user, &git);
	if (r != GIT_ACCEPTED)
		return r;
	if (fstatat(git, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return follow_worktree(l, git, top, user);
	return follow_module(l, git);
}

/* .git is a file. What it names is taken only if all agrees; else l->git is empty again. */
static void follow_gitfile(struct git_layout *l, int top, const struct git_user *user)
{
	char gitfile[PATH_MAX];
	enum git_refusal r;

	l->kind = GIT_WORKTREE;
	if (git_path_join(l->top, ".git", gitfile, sizeof(gitfile)) < 0)
		return;
	r = read_pointer(top, ".git", l->top, true, l->git, sizeof(l->git));
	if (r != GIT_ACCEPTED) {
		refuse(l, r, gitfile);
	} else {
		r = follow_checked(l, top, user);
		if (r == GIT_ACCEPTED)
			r = git_repository_main(l->common, user, l->main, sizeof(l->main), &l->identity);
		if (r != GIT_ACCEPTED)
			refuse(l, r, l->git);
	}
	if (r != GIT_ACCEPTED) {
		l->git[0] = '\0';
		l->common[0] = '\0';
	}
}

/* .git is a folder. Nothing need be granted unless top is above the project; a commondir in it would lead elsewhere. */
static void follow_folder(struct git_layout *l, int top, const struct git_user *user)
{
	_cleanup_close_ int git = -1;
	enum git_refusal r;
	struct stat st;

	l->kind = GIT_PLAIN;
	if (git_path_join(l->top, ".git", l->git, sizeof(l->git)) < 0)
		return;
	memcpy(l->common, l->git, sizeof(l->common));
	memcpy(l->main, l->git, sizeof(l->main));
	r = git_folder_open_below(top, ".git", NULL, &git);
	if (r != GIT_ACCEPTED || git_folder_identify(git, &l->identity) < 0) {
		refuse(l, r != GIT_ACCEPTED ? r : GIT_UNREADABLE, l->git);
		return;
	}
	if (fstatat(git, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0)
		refuse(l, GIT_NOT_POINTED_BACK, l->git);
	if (!l->above)
		return;
	fd_close(git);
	git = -1;
	r = git_folder_is_forbidden(l->top, user) ? GIT_FORBIDDEN_PLACE : git_folder_open(l->git, user, &git);
	if (r != GIT_ACCEPTED)
		refuse(l, r, l->top);
}

/* .git is a symlink: git follows it. Within the project nothing is to be granted; elsewhere nothing is. */
static void follow_link(struct git_layout *l, int top)
{
	_cleanup_close_ int git = openat(top, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX], own[32];
	ssize_t n;

	l->kind = GIT_PLAIN;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", git);
	n = git < 0 ? -1 : readlink(own, path, sizeof(path));
	if (n > 0 && (size_t)n < sizeof(path)) {
		path[n] = '\0';
		if (!l->above && git_path_is_within(path, l->top)) {
			memcpy(l->git, path, (size_t)n + 1);
			memcpy(l->common, path, (size_t)n + 1);
			memcpy(l->main, path, (size_t)n + 1);
			return;
		}
	}
	if (git_path_join(l->top, ".git", path, sizeof(path)) == 0)
		refuse(l, GIT_THROUGH_LINK, path);
}

static void follow(struct git_layout *l, int top, const struct stat *entry, const struct git_user *user)
{
	struct stat st;

	if (fstat(top, &st) == 0)
		l->top_owner = st.st_uid;
	l->git_owner = entry->st_uid;
	if (git_folder_identify(top, &l->top_identity) < 0)
		refuse(l, GIT_UNREADABLE, l->top);
	switch (entry->st_mode & S_IFMT) {
	case S_IFDIR:
		follow_folder(l, top, user);
		break;
	case S_IFREG:
		follow_gitfile(l, top, user);
		break;
	case S_IFLNK:
		follow_link(l, top);
		break;
	default:
		break;
	}
	if (l->above && l->refusal == GIT_ACCEPTED && git_folder_is_forbidden(l->top, user))
		refuse(l, GIT_FORBIDDEN_PLACE, l->top);
}

/* Is there a repository's .git, or is this folder one itself? A .git folder that is no repository git passes over. */
static bool look(int folder, struct stat *entry, bool *ret_bare)
{
	_cleanup_close_ int git = -1;

	*ret_bare = false;
	if (fstatat(folder, ".git", entry, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISREG(entry->st_mode) || S_ISLNK(entry->st_mode))
			return true;
		if (git_folder_open_below(folder, ".git", NULL, &git) == GIT_ACCEPTED && git_folder_is_repository(git))
			return true;
	}
	*ret_bare = git_folder_is_repository(folder);
	return *ret_bare;
}

static void follow_bare(struct git_layout *l)
{
	l->kind = l->above ? GIT_NONE : GIT_BARE;
	memcpy(l->git, l->top, sizeof(l->git));
	memcpy(l->common, l->top, sizeof(l->common));
	memcpy(l->main, l->top, sizeof(l->main));
}

/* Upward from the project as git does it: to the first repository, not onto another file system. */
static void find_top(struct git_layout *l, const struct git_user *user)
{
	_cleanup_close_ int folder = -1;
	struct stat here, entry;
	dev_t device = 0;

	if (git_folder_open_any(l->top, &folder) != GIT_ACCEPTED)
		return;
	for (int i = 0; i < LEVELS && strcmp(l->top, "/") != 0; i++) {
		bool bare;
		int parent;

		if (fstat(folder, &here) < 0 || (i > 0 && here.st_dev != device))
			return;
		device = here.st_dev;
		if (look(folder, &entry, &bare)) {
			if (bare)
				follow_bare(l);
			else
				follow(l, folder, &entry, user);
			return;
		}
		parent = openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			return;
		fd_close(folder);
		folder = parent;
		l->above = true;
		git_path_parent(l->top, l->top, sizeof(l->top));
	}
}

int git_layout_find(const char *project, const struct git_user *user, struct git_layout *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (strlen(project) >= sizeof(ret->top) || strcmp(project, "/") == 0)
		return 0;
	memcpy(ret->top, project, strlen(project) + 1);
	find_top(ret, user);
	if (ret->kind == GIT_NONE || ret->git[0] == '\0')
		return 0;
	return git_layout_scan(ret, project, user);
}

void git_layout_done(struct git_layout *l)
{
	struct git_paths *lists[] = { &l->worktrees, &l->modules };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		while (lists[i]->count > 0)
			free(lists[i]->items[--lists[i]->count]);
		free(lists[i]->items);
		lists[i]->items = NULL;
	}
	while (l->n_alternates > 0) {
		struct git_alternate *last = &l->alternates[--l->n_alternates];

		free(last->objects);
		free(last->repository);
	}
}

bool git_layout_reaches_out(const struct git_layout *l, const char *project)
{
	return l->kind != GIT_NONE && l->kind != GIT_BARE && (l->above || !git_path_is_within(l->common, project));
}
