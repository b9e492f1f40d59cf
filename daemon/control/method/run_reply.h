#ifndef ISOD_CONTROL_RUN_REPLY_H
#define ISOD_CONTROL_RUN_REPLY_H
/* The replies of a Run call, when its session tells what became of it. s->client must be there. */
#include "base/error.h"

struct session;

void run_reply_started(struct session *s);
void run_reply_failed(struct session *s, const struct error *e);
void run_reply_exited(struct session *s);
/* Nothing of the session is left: a connection that its helper had is forgotten. */
void run_reply_gone(struct session *s);

#endif
