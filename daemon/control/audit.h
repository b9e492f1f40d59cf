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

#define AUDIT_SUFFIX ".jsonl"

struct audit {
	uv_loop_t *loop;
	int dir_fd;
	int failing;   /* positive errno of the last write, 0 = it worked */
	uint64_t lost; /* lines, since the start */
};

struct audit_file {
	int fd;
	off_t size;    /* of the whole lines */
	uint64_t lost; /* lines since the last that was written */
};

#define AUDIT_FILE_INIT                                                                                                \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* id must be valid. A file of that id must not exist. 0 or -errno. */
int audit_open(struct audit *a, const char *id, struct audit_file *ret);
/* Appends the line and its end. 0 or -errno; the file holds whole lines in any case. */
int audit_append(struct audit *a, struct audit_file *f, struct buffer *line);
/* Brings the file to the disk, in a thread of its own, and closes it. */
void audit_close(struct audit *a, struct audit_file *f);
/* A descriptor, or -errno. */
int audit_open_for_reading(const struct audit *a, const char *id);

#endif
