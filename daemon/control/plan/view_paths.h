#ifndef ISOD_CONTROL_VIEW_PATHS_H
#define ISOD_CONTROL_VIEW_PATHS_H
/* Which paths of the host may appear in a view, and where. Pure: text only, nothing is looked up. */
#include <stdbool.h>

#include "base/error.h"

/* path == parent, or below it on a component boundary. Both clean. */
bool view_path_is_within(const char *path, const char *parent);

/* May an empty private folder be mounted over this home without hiding the system? */
bool view_home_is_usable(const char *home);

/* Below one of the trees that the kernel makes for each session: /proc, /sys, /dev. */
bool view_path_is_kernels(const char *path);

/* A path of an allow rule that would hand out the sandbox's own way out, or cannot be enforced: -EPERM with a sentence
 * in *e (step = "filesystem rule"). */
int view_rule_check(const char *path, struct error *e);

/* The same for a pattern (view/path_pattern.h) with wildcards; base: the deepest folder that holds all its matches. */
int view_pattern_check(const char *pattern, const char *base, struct error *e);

/* A project root: never a place that is no folder of the user's. Places that hold much more than one project (home, its
 * parents, shared temporary folders) pass only with named = true: an allowWrite rule names them. */
int view_project_check(const char *path, const char *home, bool named, struct error *e);

#endif
