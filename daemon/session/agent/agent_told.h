#ifndef ISOD_SESSION_AGENT_TOLD_H
#define ISOD_SESSION_AGENT_TOLD_H
/*
 * What programs asked of their ssh-agent or gpg-agent, for the audit log: each request, like ones in a row as one with
 * their number. A program that asks in ever new ways is told so often, and the rest is counted as lost.
 */
#include <uv.h>

#include "daemon/session/events.h"

struct agent_told;

/* events must outlive it. 0 or -errno. */
int agent_told_new(uv_loop_t *loop, struct events *events, struct agent_told **ret);
/* .count is filled in; .type is SESSION_SSH or SESSION_GPG. */
void agent_told_add(struct agent_told *t, const struct session_agent *s);
/* Tells what is still counted. Freed once its timer is closed. */
void agent_told_close(struct agent_told *t);

#endif
