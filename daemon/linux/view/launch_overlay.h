#ifndef ISOD_LINUX_LAUNCH_OVERLAY_H
#define ISOD_LINUX_LAUNCH_OVERLAY_H
/*
 * Step of the outer process: for each PLAN_MOUNT_OVERLAY a detached overlay of the opened source and a layer of the
 * session, on disk. It is made with the caller's ids, which is who overlayfs then is to the file systems below; its
 * marks are user.overlay.* attributes, which the caller can read later. Of root's rights it has one, CAP_DAC_OVERRIDE:
 * its own work folder has mode 000. What a program may do is still decided by the modes and owners that it sees.
 */
#include "daemon/launch/launch.h"

int launch_overlay_make(struct launch *l, struct error *e);

#endif
