#ifndef ISOD_SESSION_RIGHTS_STAGES_H
#define ISOD_SESSION_RIGHTS_STAGES_H
/* The two stages of rights.c with files of their own. 0 or -errno. */
#include "daemon/wire/context.h"

/* Keeps: reading what name resolution needs. Gives up: every other file, listening on TCP ports, abstract sockets. Does
 * nothing where the context says that the kernel has no Landlock. */
int rights_landlock(const struct session_context *context);

/* Keeps: the calls of an event loop with threads that talks to the network. Gives up: the rest. Last stage. */
int rights_seccomp(const struct session_context *context);

#endif
