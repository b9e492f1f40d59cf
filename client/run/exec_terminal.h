#ifndef ISOD_CLIENT_EXEC_TERMINAL_H
#define ISOD_CLIENT_EXEC_TERMINAL_H
/* A command added to a session, with a pty of its own: isod hands its master to isoctl, which relays it itself. */
#include "client/run/run.h"

/* Sends the call (Exec with a terminal) and returns the exit code of isoctl; failures are reported. */
int exec_terminal(struct run *run);

#endif
