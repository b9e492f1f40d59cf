#ifndef ISOD_GIT_GIT_LAYOUT_SCAN_H
#define ISOD_GIT_GIT_LAYOUT_SCAN_H
#include "git/git_layout.h"

/* Fills worktrees, modules and alternates of a layout whose git and common are known. Bounded: GIT_LAYOUT_FOLDERS
 * folders, MODULE_DEPTH levels, GIT_LAYOUT_ALTERNATES stores. 0 or -ENOMEM. */
int git_layout_scan(struct git_layout *l, const char *project, const struct git_user *user);

#endif
