#ifndef ISOD_CONTROL_STDIO_CHECK_H
#define ISOD_CONTROL_STDIO_CHECK_H
/*
 * The three descriptors that a client gives to its program. What they refer to can be opened again from inside, as
 * /proc/self/fd/0, with more rights than the descriptor has: so only objects pass for which that opens nothing new.
 */
#include <stddef.h>

#include "base/error.h"

/* Pipes without a name and /dev/null. 0, or -EPERM with *e (ERROR_REFUSED). */
int stdio_check(const int *fds, size_t n, struct error *e);

#endif
