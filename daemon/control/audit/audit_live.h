#ifndef ISOD_CONTROL_AUDIT_LIVE_H
#define ISOD_CONTROL_AUDIT_LIVE_H
/*
 * The heads of files that have not ended, in one file "live" of fixed places, each written after the lines it tells of:
 * what was written before a kill -9 cannot be cut off unseen. A place is AUDIT_LIVE_SIZE bytes: id, four zeros, seq,
 * bytes of the file (little-endian), hash.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "daemon/control/audit/audit_chain.h"

#define AUDIT_LIVE_SIZE 64
/* Those that run, and those that have ended and are being cleaned up. */
#define AUDIT_LIVE_MAX (2 * LIMIT_SESSIONS)

struct audit_live {
	int fd; /* -1: nothing is kept */
	char (*ids)[ISOD_ID_LEN + 1];
};

/* With what is there of an earlier run. 0 or -errno. */
int audit_live_open(struct audit_live *l, int dir_fd);
void audit_live_done(struct audit_live *l);

/* A place for id: the one it had, or a free one. -1: there is none, and the other calls do nothing. */
int audit_live_take(struct audit_live *l, const char *id);
/* 0 or -errno. */
int audit_live_put(const struct audit_live *l, int place, const struct audit_head *head, off_t size);
void audit_live_drop(struct audit_live *l, int place);
/* 0, or -ENOENT: id has no place; -EBADMSG. */
int audit_live_find(const struct audit_live *l, const char *id, struct audit_head *ret);

#endif
