#ifndef ISOD_MONITOR_RECORD_CHECK_H
#define ISOD_MONITOR_RECORD_CHECK_H
#include "base/error.h"

/*
 * What a client gives for the recording of a session: a regular file of a disk or of memory, opened for appending and
 * nothing else. isod-session writes into it with the rights of isod-net, and the kernel's own files ask who writes.
 * 0, or -EPERM with *e.
 */
int record_check(int fd, struct error *e);

#endif
