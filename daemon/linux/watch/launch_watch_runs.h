#ifndef ISOD_LINUX_LAUNCH_WATCH_RUNS_H
#define ISOD_LINUX_LAUNCH_WATCH_RUNS_H
#include <stdbool.h>

/* A file of this name is not protected, yet usually run by hand or by a tool on the host. */
bool launch_watch_runs(const char *name);

#endif
