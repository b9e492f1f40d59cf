#ifndef ISOD_MONITOR_KEEP_H
#define ISOD_MONITOR_KEEP_H
/*
 * Sessions that outlive isod-control. isod holds three descriptors of each: the channel to isod-session, a memory file
 * in which isod-control wrote what the next one needs to know, and the client's connection. It reads from none of them.
 */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/wire/control_wire.h"

struct monitor;
struct session;

/* CONTROL_KEEP and CONTROL_SESSION_DONE; the descriptors stay the caller's. */
int keep_take(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
int keep_done(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);

/* isod-control has fallen: ends the sessions that are not kept; all of them without may_keep. */
void keep_after_fall(struct monitor *m, bool may_keep);
/* There is a new one: gives it the sessions that are kept. */
void keep_adopt(struct monitor *m);
void keep_drop(struct session *s);

#endif
