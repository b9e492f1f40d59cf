#ifndef ISOD_LINUX_LAUNCH_MOVES_H
#define ISOD_LINUX_LAUNCH_MOVES_H
/*
 * What is moved while the granted folders are looked through: something that goes from where nobody looked yet to where
 * somebody was would not be seen. fanotify on the whole file systems of the grants (Linux 5.9: FAN_REPORT_DFID_NAME),
 * since it can come from anywhere on them, tells of all names that were moved, and where to.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "daemon/launch/launch.h"

/* Events that may wait while folders are read: some 15 MB of the kernel's memory. */
#define LAUNCH_MOVES_WAITING 65536
/* Mounts in which folders of grants lie: those of the grants, what is mounted below them, locks. */
#define LAUNCH_MOVES_MOUNTS 1024

struct launch_moves;

struct launch_moved {
	int fd;                  /* the folder, O_PATH; the caller closes it */
	char folder[LIMIT_PATH]; /* its path in the view */
	char name[LIMIT_NAME];
};

/* NULL: no memory, or no group to be had. */
struct launch_moves *launch_moves_new(void);
void launch_moves_free(struct launch_moves *m);

/* To be called with each folder before it is read, and the path that it is judged by. 1 = it was noted before, in this
 * mount, under this path, 0 = it is now, or something was moved into it that could not be told; -errno. A mount not met
 * before is watched from now on. */
int launch_moves_enter(struct launch_moves *m, int folder, const char *path);
/* There are mounts on which moves are not told: their file system cannot, or there are too many. */
bool launch_moves_is_blind(const struct launch_moves *m);

/* A move was told and could not be followed. */
bool launch_moves_has_missed(const struct launch_moves *m);
/* How many events wait to be read, whoever has made them. */
unsigned launch_moves_waiting(const struct launch_moves *m);

/* A descriptor in the mount of that number (of name_to_handle_at), or -1. The moves' own. */
int launch_moves_mount(const struct launch_moves *m, int mount_id);

/* What is at *ret's name may have come there by a move. 1 = filled in; 0 = all that was moved before the first call
 * since the last 0 has been told. */
int launch_moves_next(struct launch_moves *m, const struct launch *l, struct launch_moved *ret);

#endif
