#ifndef ISOD_CLIENT_RECORD_STORE_H
#define ISOD_CLIENT_RECORD_STORE_H
/*
 * The recordings that a policy keeps (session.record): files ID.cast of the user's own in
 * $XDG_STATE_HOME/isod/recordings
 * (~/.local/state where that is not set), mode 0600, the newest LIMIT_RECORDINGS_KEPT.
 */
#include <stddef.h>

/* A new file there under a name of its own, open for appending; *ret_path is its path, heap memory. The oldest go. The
 * descriptor or -errno. */
int record_store_new(char **ret_path);
/* Gives it the session's name. A failure is told on stderr. */
void record_store_name(const char *path, const char *session);
/* The path of that session's recording, heap memory; NULL: no home, or no memory. It need not be there. */
char *record_store_path(const char *session);

#endif
