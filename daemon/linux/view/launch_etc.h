#ifndef ISOD_LINUX_LAUNCH_ETC_H
#define ISOD_LINUX_LAUNCH_ETC_H
/*
 * /etc of the view: isod's layer (whiteouts, resolv.conf) over the host's, read-only.
 *
 * For a caller with uid 0 the host's side is besides mapped to owners that nobody is, where the file system can: what
 * is readable for some only cannot be read, also what is made while the session runs.
 */
#include "daemon/launch/launch.h"

/* Step of the outer process: the overlay, or the two trees that pid 1 makes it from. */
int launch_etc_open(struct launch *l, struct error *e);
/* In pid 1, in its own mount namespace: the mount that belongs at /etc. 0 or -errno. */
int launch_etc_finish(struct launch *l, struct launch_tree *t);

#endif
