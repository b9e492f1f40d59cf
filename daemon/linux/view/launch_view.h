#ifndef ISOD_LINUX_LAUNCH_VIEW_H
#define ISOD_LINUX_LAUNCH_VIEW_H
/* Steps of pid 1 that build the file view in its own mount namespace and make it the only one. */
#include "daemon/launch/launch.h"

/* A procfs of the new pid namespace; the network steps write sysctls through it. */
int launch_view_proc(struct launch *l, struct error *e);
/* Nothing that is mounted here reaches the host, nor the other way round. */
int launch_view_private(struct launch *l, struct error *e);
int launch_view_root(struct launch *l, struct error *e);
/* Every mount of the plan, in its order. */
int launch_view_mounts(struct launch *l, struct error *e);
/* pivot_root, and the host's tree is gone. */
int launch_view_pivot(struct launch *l, struct error *e);
/* Covers what a bound folder brought along that must not be shared: a proc or sysfs of the host in a chroot. */
int launch_view_foreign(struct launch *l, struct error *e);
/* What is read-only becomes so, the root included. */
int launch_view_seal(struct launch *l, struct error *e);
int launch_view_hostname(struct launch *l, struct error *e);

/* The file systems of the kernel, each one by its own source file. place: the mount point, O_PATH. */
int launch_proc_attach(struct launch *l, int place, struct error *e);
int launch_proc_attach_sys(struct launch *l, int place, struct error *e);
int launch_dev_attach(struct launch *l, int place, struct error *e);

/* Notes that a special file system is the session's own. */
int launch_view_special(struct launch *l, int mount);

#endif
