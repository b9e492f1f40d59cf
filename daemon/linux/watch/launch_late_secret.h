#ifndef ISOD_LINUX_LAUNCH_LATE_SECRET_H
#define ISOD_LINUX_LAUNCH_LATE_SECRET_H
/*
 * Files that had a secret name at some time of the session, by file handle, so that none of them is to be read under
 * another name. A handle stands for one file: a new one in the same inode has another.
 *
 * Two rings, so that what the session makes does not push out what the host made: of each the oldest makes room.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_LATE_SECRETS_HOST 4096
#define LAUNCH_LATE_SECRETS_OWN 16384

enum launch_late_secret_of { LAUNCH_LATE_SECRET_HOST, LAUNCH_LATE_SECRET_OWN, LAUNCH_LATE_SECRET_KINDS };

struct launch_late_secrets;

/* NULL: no memory. */
struct launch_late_secrets *launch_late_secret_new(void);
struct launch_late_secrets *launch_late_secret_free(struct launch_late_secrets *s);

/* path: the secret name; firm: whatever is in the file. The first path stays, but a firm one takes the place of one
 * that is not. Without memory it is not remembered. */
void launch_late_secret_add(struct launch_late_secrets *s, uint64_t key, enum launch_late_secret_of of,
			    const char *path, bool firm);
/* The path that it was secret under, good until the next add; NULL: none. */
const char *launch_late_secret_find(const struct launch_late_secrets *s, uint64_t key);
bool launch_late_secret_has_any(const struct launch_late_secrets *s);

/* The key of an open file (O_PATH, too), and of what a path names, symlinks not followed; equal to that of events
 * (launch_watch_event.h). -errno: its file system has no handles, or it is gone. */
int launch_late_secret_key_of_fd(int fd, uint64_t *ret);
int launch_late_secret_key_of_path(const char *path, uint64_t *ret);

#endif
