#ifndef ISOD_CLIENT_GRANT_FILE_H
#define ISOD_CLIENT_GRANT_FILE_H
/* A host that a session is granted, written down for those to come. */
#include <stdbool.h>

#include "base/error.h"

struct client;

/* Into the user's own policy (always), or that for the session's project; shows what is to be written and asks, unless
 * yes. The session itself does not know of it yet. 0 or more, or -errno with *e. */
int grant_file_write(const struct client *client, const char *session, const char *host, bool always, bool yes,
		     struct error *e);

#endif
