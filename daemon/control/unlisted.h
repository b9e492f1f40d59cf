#ifndef ISOD_CONTROL_UNLISTED_H
#define ISOD_CONTROL_UNLISTED_H
/* What the user of a session is told about hosts that no rule names. */
#include "base/error.h"

struct session;

/* Into the notes, and where it is open what it lacks. Its policy is known, nothing has started. 0 or -errno with *e. */
int unlisted_tell(struct session *s, struct error *e);

#endif
