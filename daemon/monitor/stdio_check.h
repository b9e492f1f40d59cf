#ifndef ISOD_MONITOR_STDIO_CHECK_H
#define ISOD_MONITOR_STDIO_CHECK_H
#include "base/error.h"

/*
 * A program can open /proc/self/fd/N again, with more rights than the descriptor has. So only what holds nothing but a
 * stream may pass into a session: a pipe without a name, /dev/null. A file, folder, terminal, device, fifo or socket is
 * refused with a sentence. name: "stdin", ... 0 or -EPERM.
 */
int stdio_check(int fd, const char *name, struct error *e);

#endif
