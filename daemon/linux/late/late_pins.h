#ifndef ISOD_LINUX_LATE_PINS_H
#define ISOD_LINUX_LATE_PINS_H
/*
 * The folder below /sys/fs/bpf in which the attachments of the late guard are pinned, so that they hold when isod is
 * killed, until its processes are. One for each instance of isod; emptied by its next start, and by its end.
 */
#include <stddef.h>

/* "/sys/fs/bpf/isod-TAG" */
void late_pins_path(const char *tag, char *ret, size_t size);
/* Makes it, empty. 0; -ENODEV where /sys/fs/bpf is no bpffs. */
int late_pins_make(const char *path);
/* Detaches everything in it. 0 also where it is not there. */
int late_pins_remove(const char *path);

#endif
