#ifndef ISOD_GIT_GIT_VALUES_H
#define ISOD_GIT_GIT_VALUES_H
/*
 * What of git's configuration matters to a session: the few settings of the user's own that may go in (a name, an
 * address, how lines end), because the files that hold them, and perhaps credentials, do not; and those that say what
 * must be protected.
 */
#include "git/git_settings.h"

#define GIT_VALUE_MAX 512
#define GIT_VALUES_PATHS 16
#define GIT_VALUES_INCLUDES 256

struct git_value {
	const char *name; /* as in a command's -c */
	char value[GIT_VALUE_MAX];
	enum git_scope scope; /* of the last one, which counts */
	bool is_set;
	bool is_plain; /* short, printable, and what the table of names permits */
};

struct git_values {
	struct git_value *values; /* in the order of the table */
	size_t count;
	struct {
		char path[PATH_MAX];
		enum git_scope scope;
		bool counts;       /* the one that git uses */
	} hooks[GIT_VALUES_PATHS]; /* core.hooksPath, every one found; relative to the work tree where it was relative
				    */
	size_t n_hooks;
	bool more_hooks;
	char **includes; /* files that include.path and includeIf.*.path name, there or not, whatever their condition */
	size_t n_includes;
	bool more_includes;
	bool signs;              /* commit.gpgSign or tag.gpgSign is on */
	char excludes[PATH_MAX]; /* core.excludesFile of the user's own; "" */
	bool bad;                /* the repository's configuration is not understood */
};

/* 0, -ENOMEM; git_values_done() in any case. */
int git_values_read(const struct git_settings_files *files, const struct git_layout *l, const struct git_user *user,
		    struct git_values *ret);
void git_values_done(struct git_values *v);

#endif
