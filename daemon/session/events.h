#ifndef ISOD_SESSION_EVENTS_H
#define ISOD_SESSION_EVENTS_H
/* What happened, on its way to isod-control's audit log: a bounded queue over SESSION_FD_CONTROL. A full queue counts
 * what it drops and says so with SESSION_LOST; it never blocks a relay. */
#include "daemon/wire/session_wire.h"

struct events;

/* .type, .count = 0 are filled in. The program's name is asked for by the caller (owner.h) where it is wanted. */
void events_connection(struct events *e, const struct session_connection *c);
void events_status(struct events *e, uint32_t type, uint32_t kind, int32_t value);

#endif
