#ifndef ISOD_LINUX_PROBE_LATE_H
#define ISOD_LINUX_PROBE_LATE_H
/* Can this kernel refuse an open of a file that appears while a session runs? */
#include <stdint.h>

/* Tried: a group that is asked about opens, and a mark. Sets enum late_way, LATE_WAY_FANOTIFY or LATE_WAY_NONE, and
 * enum late_reason (daemon/wire/late.h). */
void probe_late(uint32_t *ret_way, uint32_t *ret_reason);

#endif
