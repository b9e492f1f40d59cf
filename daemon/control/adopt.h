#ifndef ISOD_CONTROL_ADOPT_H
#define ISOD_CONTROL_ADOPT_H
/* A session that an isod-control before this one has started becomes ours (CONTROL_ADOPT). */
#include <stddef.h>

#include "daemon/wire/control_wire.h"

struct control;

/*
 * It is in the registry afterwards, whatever happens: one whose state cannot be read, or whose policy is not what it
 * was, is ended. 0, -EBADMSG, -ENOMEM.
 */
int adopt_session(struct control *c, const struct control_message *m, int *fds, size_t n_fds);

#endif
