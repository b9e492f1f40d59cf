#ifndef ISOD_SESSION_EVENTS_H
#define ISOD_SESSION_EVENTS_H
/* What happened, on its way to isod-control's audit log: a bounded queue over SESSION_FD_CONTROL. A full queue counts
 * what it drops and says so with SESSION_LOST; it never blocks a relay. */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/wire/session_wire.h"

struct events;
struct record;

/* Entries that may wait while isod-control does not read: at about 550 bytes each, 2.2 MiB. */
#define EVENTS_MAX 4096

/* wake: called when something was queued, so that the owner of the socket watches for room; may be NULL. */
struct events *events_new(size_t max, void (*wake)(void *data), void *data);
void events_free(struct events *e);

/* What is told from now on becomes a marker of it as well, whether there is room in the queue or not. Not owned. */
void events_record(struct events *e, struct record *record);

/* A connection that was let through has been made: a marker alone, its end is an event. */
void events_allowed(struct events *e, const char *name, uint16_t port);
/* .type, .count = 0 are filled in. The program's name is asked for by the caller (owner.h) where it is wanted; bytes of
 * it that are no printable ASCII are escaped here. */
void events_connection(struct events *e, const struct session_connection *c);
/* Never dropped for want of room by connections: a few places are kept for these. */
void events_status(struct events *e, uint32_t type, uint32_t kind, int32_t value);
/* What pid 1 told of late files; bytes of the program's name that are no printable ASCII are escaped here. */
void events_late(struct events *e, const struct late_event *event);
/* .type is set; bytes of the program's name likewise. */
void events_agent(struct events *e, const struct session_agent *s);
/* .type is filled in; bytes of the program's name likewise. Kept room for as a status is. */
void events_question(struct events *e, const struct session_question *q);
/* An account of the budget is used up, and there was more. direction: enum egress_direction. */
void events_budget(struct events *e, uint32_t account, uint32_t direction, uint64_t limit, uint32_t generation);
/* .type is filled in. Not sent where there is no room: the next one says more. */
void events_usage(struct events *e, const struct session_usage *usage);
/* A piece of what was to be seen last: at most SESSION_LAST_PIECE bytes. */
void events_last(struct events *e, uint32_t stream, const char *data, size_t n);
/* Counts n connections that nobody will hear about. */
void events_lost(struct events *e, uint64_t n);

/* Sends what the non-blocking socket takes. 0 = nothing is left, -EAGAIN = the rest must wait, or -errno. */
int events_flush(struct events *e, int sock);
bool events_pending(const struct events *e);

#endif
