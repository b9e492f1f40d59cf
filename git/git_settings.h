#ifndef ISOD_GIT_GIT_SETTINGS_H
#define ISOD_GIT_GIT_SETTINGS_H
/*
 * The variables that git would see in a project, file after file in git's order, read as data. Included files are read
 * too, up to GIT_SETTINGS_DEPTH deep and GIT_SETTINGS_FILES in all; what cannot be read is left out, as git does.
 */
#include <stdbool.h>
#include <stddef.h>

#include "git/git_config.h"
#include "git/git_layout.h"

#define GIT_SETTINGS_DEPTH 10 /* as git */
#define GIT_SETTINGS_FILES 64

enum git_scope { GIT_SYSTEM, GIT_GLOBAL, GIT_LOCAL, GIT_OF_WORKTREE };

struct git_setting {
	enum git_scope scope;
	bool certain; /* false: behind an includeIf of another branch, or one that is not understood here */
	const char *file;
	const struct git_config_entry *entry;
};

/* Anything but 0 ends the reading and is returned. */
typedef int git_settings_fn(void *userdata, const struct git_setting *setting);

struct git_settings_files {
	const char *system;    /* usually /etc/gitconfig; NULL: none */
	const char *global[2]; /* the later one wins: $XDG_CONFIG_HOME/git/config, ~/.gitconfig; NULL: none */
};

/* l->kind may be GIT_NONE. *ret_bad: a file of the repository's own that git would not read either, or that is larger
 * than what is read here. 0, -ENOMEM, or what fn returned. */
int git_settings_read(const struct git_settings_files *files, const struct git_layout *l, const struct git_user *user,
		      git_settings_fn *fn, void *userdata, bool *ret_bad);

/* "~/x" below home, x below base, absolute as it is; 0, -EINVAL ("~other/", no home), -ENAMETOOLONG. */
int git_settings_path(const char *value, const char *base, const char *home, char *ret, size_t ret_size);

#endif
