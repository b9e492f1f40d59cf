#ifndef ISOD_SESSION_RIGHTS_STAGES_H
#define ISOD_SESSION_RIGHTS_STAGES_H
/* The two stages of rights.c with files of their own. 0 or -errno. */
#include "daemon/session/rights.h"

/* Keeps: reading what name resolution needs. Gives up: every other file, listening on TCP ports, abstract sockets. Does
 * nothing where the context says that the kernel has no Landlock. */
int rights_landlock(const struct rights *rights);

/* Keeps: the calls of the filter that isod handed over (daemon/linux/filter/seccomp_session.c). Gives up: the rest.
 * Last stage. */
int rights_seccomp(const struct rights *rights);

#endif
