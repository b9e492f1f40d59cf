#ifndef ISOD_CLIENT_GIT_CALLER_H
#define ISOD_CLIENT_GIT_CALLER_H
/* The user whose git is looked at, and the files of that user's own configuration. */
#include <limits.h>

#include "git/git_settings.h"

struct git_caller {
	struct git_user user; /* .home points here */
	char home[PATH_MAX];  /* without a symlink */
	char global[2][PATH_MAX];
	struct git_settings_files files; /* points here */
};

void git_caller_init(struct git_caller *c);

#endif
