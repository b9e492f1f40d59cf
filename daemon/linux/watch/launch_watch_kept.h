#ifndef ISOD_LINUX_LAUNCH_WATCH_KEPT_H
#define ISOD_LINUX_LAUNCH_WATCH_KEPT_H
#include <stdbool.h>

/* Something mounted there keeps it from being written, as the search left it. False: the host has put another in its
 * place since, which took the mount along. Of a symlink, and of what is out of reach, it cannot be told: true. */
bool launch_watch_kept(const char *path);

#endif
