#ifndef ISOD_MONITOR_SESSION_START_H
#define ISOD_MONITOR_SESSION_START_H
#include <stddef.h>

#include "daemon/wire/control_wire.h"

struct monitor;

/*
 * Carries out CONTROL_START. The descriptors stay the caller's. 0 where the message could be meant: what then fails is
 * told to control as CONTROL_SESSION_FAILED. -EPROTO where isod-control must not be trusted any longer.
 */
int session_start(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);

#endif
