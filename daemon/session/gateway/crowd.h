#ifndef ISOD_SESSION_GATEWAY_CROWD_H
#define ISOD_SESSION_GATEWAY_CROWD_H
/* More connections than can be served, or even be told so. */
#include <stdbool.h>

struct gateway;

/* Is there room for one more, at least for a refusal? fd: its descriptor. */
bool crowd_has_room(const struct gateway *g, int fd);
/* Closes it with a reset. All of 2 s become one audit event; the log has a line a minute. fd -1: it was closed already.
 */
void crowd_turn_away(struct gateway *g, int fd, bool captured);
/* accept(2) has failed for want of err. */
void crowd_log(struct gateway *g, int err);
/* Tells what is not told yet; before the gateway closes. */
void crowd_close(struct gateway *g);

#endif
