#ifndef ISOD_LINUX_LAUNCH_GRANT_H
#define ISOD_LINUX_LAUNCH_GRANT_H
#include "daemon/launch/launch.h"

/* Step: fills l->grants, once the view is complete. */
int launch_grant_collect(struct launch *l, struct error *e);

#endif
