#ifndef ISOD_LINUX_LAUNCH_SEARCH_RULES_H
#define ISOD_LINUX_LAUNCH_SEARCH_RULES_H
/* What the rules' word about a path means for the search. No system calls. */
#include <stdbool.h>

#include "daemon/launch/launch.h"
#include "daemon/linux/view/launch_folder.h"
#include "view/path_rules.h"

bool launch_search_is_writable(enum path_access access);
/* enum launch_protection of a thing in surroundings of that access; -1 = nothing is to be done. */
int launch_search_protection(const struct path_verdict *v, enum path_access around);
/* Git's contents lie there. */
bool launch_search_is_store(const struct launch_folder *f);
/* Of a grant that no rule is about: that of its mount. */
enum path_access launch_search_access(const struct launch_target *t);
/* A mount of the plan lies there, which is looked at by itself. */
bool launch_search_is_mounted(const struct launch *l, const char *path);

#endif
