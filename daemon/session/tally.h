#ifndef ISOD_SESSION_TALLY_H
#define ISOD_SESSION_TALLY_H
/* Refusals that repeat: the first is told at once, like ones that follow within the window are counted and told
 * together when it ends. Bounded: a session that is refused in ever new ways fills the table and is counted as lost. */
#include <uv.h>

#include "daemon/session/events.h"

struct tally;

/* Kinds of refusal that are followed at the same time. */
#define TALLY_MAX 1024

/* window: milliseconds. events must outlive the tally. 0 or -errno. */
int tally_new(uv_loop_t *loop, struct events *events, uint64_t window, struct tally **ret);
/* Alike: via, peer_uid, protocol, family, address, port, reason and name. */
void tally_add(struct tally *t, const struct session_connection *refused);
/* Tells what is still counted. Freed once its timer is closed: run the loop after. NULL is allowed. */
/* Tells what is not told yet and forgets all: what comes next counts anew. */
void tally_flush(struct tally *t);
void tally_close(struct tally *t);

#endif
