#ifndef ISOD_GIT_GIT_LAYOUT_H
#define ISOD_GIT_GIT_LAYOUT_H
/*
 * Which git folders a project has, found by looking at names and small files only: git is never run, no hook, no
 * filter, no helper. What the files in the project say is foreign: a pointer is believed only where the folder it names
 * is a git folder, is the user's own, and points back.
 */
#include <limits.h>

#include "git/git_folder.h"

enum git_kind {
	GIT_NONE,
	GIT_PLAIN,     /* .git is a folder */
	GIT_WORKTREE,  /* .git is a file, of a linked worktree */
	GIT_SUBMODULE, /* of a submodule: the folder has core.worktree */
	GIT_SEPARATE,  /* of a --separate-git-dir: nothing points back */
	GIT_BARE,      /* the project itself is a git folder */
};

/* Folders of other worktrees and modules that are looked at one by one; where there are more, all are taken together.
 */
#define GIT_LAYOUT_FOLDERS 256
/* As git: an alternate may have alternates, five deep. */
#define GIT_LAYOUT_ALTERNATES 16

struct git_paths {
	char **items; /* clean, absolute */
	size_t count;
	bool more; /* than GIT_LAYOUT_FOLDERS: the rest is not here */
};

struct git_alternate {
	char *objects;
	char *repository; /* whose objects they are; "" where nothing says so */
	struct git_identity identity;
	enum git_refusal refusal;
};

struct git_layout {
	enum git_kind kind;
	bool above;            /* top is a parent of the project */
	char top[PATH_MAX];    /* the folder with .git in it: the work tree */
	char git[PATH_MAX];    /* the git folder of this work tree; "" where the pointer is refused */
	char common[PATH_MAX]; /* where config, hooks, objects and refs are */
	char main[PATH_MAX];   /* the git folder of the repository that all belongs to: the one the user trusts */
	struct git_identity identity;     /* of main */
	struct git_identity top_identity; /* of top */
	uid_t top_owner;
	uid_t git_owner;
	enum git_refusal refusal;   /* nothing may be granted, and why */
	char about[PATH_MAX];       /* the path that the refusal is about */
	struct git_paths worktrees; /* folders below common/worktrees of work trees that are not in the project */
	struct git_paths modules;   /* git folders of submodules, below common/modules and git/modules */
	struct git_alternate alternates[GIT_LAYOUT_ALTERNATES];
	size_t n_alternates;
};

/* project: clean, absolute, without a symlink. Always fills *ret; 0 or -ENOMEM. git_layout_done() in any case. */
int git_layout_find(const char *project, const struct git_user *user, struct git_layout *ret);
void git_layout_done(struct git_layout *l);

/* Does the project's git use folders outside the project? */
bool git_layout_reaches_out(const struct git_layout *l, const char *project);

#endif
