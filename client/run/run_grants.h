#ifndef ISOD_CLIENT_RUN_GRANTS_H
#define ISOD_CLIENT_RUN_GRANTS_H
/* What is granted by name and is not there: most often a slip of the pen, and the session starts all the same. */
#include "base/buffer.h"
#include "policy/policy.h"

/*
 * Looks, as the user, for each plain path of allowRead, allowWrite and overlay that the user, a file or the command
 * line names; the administrator's are for many users, and wildcards may match nothing, and what is below project is
 * granted anyway. home, project: absolute. Appends a sentence for each that is not there, ended by NUL; past the eighth
 * only their number, and what has no room is left out.
 */
void run_grants_note(const struct policy *p, const char *home, const char *project, struct buffer *notes);

#endif
