#ifndef ISOD_CONTROL_AUDIT_H
#define ISOD_CONTROL_AUDIT_H
/*
 * The audit log: one file a session, "<id>.jsonl" in a folder that only the control user can read. Append-only, one
 * write() a line, so that a crash leaves whole lines. Logs the first failure of a row of them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/limits.h"
#include "daemon/control/audit/audit_keep.h"

#define AUDIT_SUFFIX ".jsonl"

struct audit {
	uv_loop_t *loop;
	int dir_fd;
	int failing;   /* positive errno of the last write, 0 = it worked */
	uint64_t lost; /* lines, since the start */
	struct audit_keep keep;
};

struct audit_file {
	int fd;
	off_t size;    /* of the whole lines */
	uint64_t lost; /* lines since the last that was written */
	uint64_t full; /* events that had no room in it any more */
	uint32_t uid;
	char id[ISOD_ID_LEN + 1];
};

#define AUDIT_FILE_INIT                                                                                                \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* id must be valid. A file of that id must not exist. 0 or -errno. */
int audit_open(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret);
/* Goes on with the file of a session that an earlier isod-control has begun. 0 or -errno. */
int audit_open_again(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret);
/* Appends the line and its end. 0 or -errno; the file holds whole lines in any case. */
int audit_append(struct audit *a, struct audit_file *f, struct buffer *line);
/* Brings the file to the disk, in a thread of its own, and closes it. */
void audit_close(struct audit *a, struct audit_file *f);
/* Without the disk: anybody can be refused as often as he likes. */
void audit_close_refused(struct audit *a, struct audit_file *f);
int audit_remove(int dir_fd, const char *id);
/* A descriptor, or -errno. */
int audit_open_for_reading(int dir_fd, const char *id);

#endif
