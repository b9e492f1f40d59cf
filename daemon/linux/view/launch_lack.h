#ifndef ISOD_LINUX_LAUNCH_LACK_H
#define ISOD_LINUX_LAUNCH_LACK_H
/* What of its plan a session does not enforce, told before its program runs. */
#include "daemon/launch/launch.h"

/* Over the link, LATE_LACKING: layers and devices that are not there (PLAN_DEGRADED), folders that were not searched.
 * 0, or -errno where the link is broken. */
int launch_lack_tell(const struct launch *l);

/* A file is protected under path only; without a path: so many others. */
int launch_lack_tell_links(const struct launch *l, size_t n, const char *path);
/* So many granted folders could not be watched. */
int launch_lack_tell_watch(const struct launch *l, size_t n);

#endif
