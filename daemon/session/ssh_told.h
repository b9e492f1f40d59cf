#ifndef ISOD_SESSION_SSH_TOLD_H
#define ISOD_SESSION_SSH_TOLD_H
/*
 * What programs asked of their ssh-agent, for the audit log: each request, like ones in a row as one with their number.
 * A program that asks in ever new ways is told so often, and the rest is counted as lost.
 */
#include <uv.h>

#include "daemon/session/events.h"

struct ssh_told;

/* events must outlive it. 0 or -errno. */
int ssh_told_new(uv_loop_t *loop, struct events *events, struct ssh_told **ret);
/* .type and .count are filled in. */
void ssh_told_add(struct ssh_told *t, const struct session_ssh *s);
/* Tells what is still counted. Freed once its timer is closed. */
void ssh_told_close(struct ssh_told *t);

#endif
