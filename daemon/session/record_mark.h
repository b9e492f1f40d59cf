#ifndef ISOD_SESSION_RECORD_MARK_H
#define ISOD_SESSION_RECORD_MARK_H
/* What was decided, as markers of the session's recording: one begins with a word that says what it is ("allowed",
 * "closed", "denied", "secret", "planted", "agent", "budget", "stopped"), then the target. r may be NULL. */
#include "daemon/session/record.h"
#include "daemon/wire/session_wire.h"

/* A connection that was let through has just been made. */
void record_mark_allowed(struct record *r, const char *name, uint16_t port);
/* One that has ended, or was refused. */
void record_mark_connection(struct record *r, const struct session_connection *c);
void record_mark_late(struct record *r, const struct late_event *event);
void record_mark_agent(struct record *r, const struct session_agent *s);
void record_mark_budget(struct record *r, uint32_t account, uint32_t direction, uint64_t limit);
void record_mark_status(struct record *r, uint32_t type, uint32_t kind, int32_t value);

#endif
