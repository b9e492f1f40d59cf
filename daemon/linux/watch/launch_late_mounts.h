#ifndef ISOD_LINUX_LAUNCH_LATE_MOUNTS_H
#define ISOD_LINUX_LAUNCH_LATE_MOUNTS_H
/* On which mounts of the view an open has to be asked about. */
#include <stdbool.h>

#include "daemon/wire/plan.h"

/* Could a rule that denies reading be about something below folder, or folder itself? */
bool launch_late_mounts_concern(const struct plan *plan, const char *folder);

#endif
