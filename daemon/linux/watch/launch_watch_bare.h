#ifndef ISOD_LINUX_LAUNCH_WATCH_BARE_H
#define ISOD_LINUX_LAUNCH_WATCH_BARE_H
/*
 * A folder that is a git repository by what lies in it, not by its name: git on the host that is called in it takes its
 * configuration, which can name programs, unless safe.bareRepository is "explicit".
 */
#include <stdbool.h>

/* A name that git looks for. */
bool launch_watch_bare_part(const char *name);
/* HEAD with objects and refs, or with a commondir that says where those are. Nothing is opened. */
bool launch_watch_bare(const char *folder);

#endif
