#ifndef ISOD_CONTROL_AUDIT_H
#define ISOD_CONTROL_AUDIT_H
/*
 * The audit log: one file a session, "<id>.jsonl" in a folder that only the control user can read. Append-only, whole
 * lines in each write(), chained (audit_chain.h), with an index of all files (audit_index.h). Logs the first failure of
 * a row of them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/limits.h"
#include "daemon/control/audit/audit_index.h"
#include "daemon/control/audit/audit_keep.h"
#include "daemon/control/audit/audit_live.h"

#define AUDIT_SUFFIX ".jsonl"
/* A line, and one that tells of a gap before it. */
#define AUDIT_PENDING_MAX (2 * AUDIT_LINE_MAX)

struct audit {
	uv_loop_t *loop;
	int dir_fd;
	int failing;   /* positive errno of the last write, 0 = it worked */
	uint64_t lost; /* lines, since the start */
	bool settled;  /* audit_settle() was called */
	struct audit_index index;
	struct audit_live live;
	struct audit_keep keep;
};

struct audit_file {
	int fd;
	off_t size;    /* of the whole lines */
	uint64_t lost; /* lines since the last that was written */
	uint64_t full; /* events that had no room in it any more */
	uint32_t uid;
	char id[ISOD_ID_LEN + 1];
	int64_t started;
	uint64_t denied;                 /* lines that say that something was refused */
	struct audit_head head, written; /* of the last line made, and of the last in the file */
	uint8_t origin[AUDIT_HASH_SIZE];
	uint8_t marks[AUDIT_MARKS_SIZE];
	int place;             /* in audit.live */
	struct buffer pending; /* made, not yet in the file */
	uint64_t n_pending;    /* lines in it */
	uint64_t n_gaps, told; /* of these, lines that tell of lost ones, and how many those were */
	uint32_t record_flags; /* of its CLOSE */
};

#define AUDIT_FILE_INIT                                                                                                \
	{                                                                                                              \
		.fd = -1, .place = -1                                                                                  \
	}

/* Takes dir_fd over. Files that an earlier run has left without an end stay open in the index: audit_settle(). 0 or
 * -errno; audit_done() in any case. */
int audit_begin(struct audit *a, uv_loop_t *loop, int dir_fd);
void audit_done(struct audit *a);

/* id must be valid. A file of that id must not exist. 0 or -errno. */
int audit_open(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret);
/* A file that an earlier run of isod-control has left without an end, at its last whole line; what was lost is told in
 * it. 0 or -errno. */
int audit_resume(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret);
/* Ends every file that is open in the index and was not resumed, once. isod gives the sessions that are still there
 * before the first client. */
void audit_settle(struct audit *a);

/* Appends the line, its number, the hash of the one before and its end. 0 or -errno; the file holds whole lines in any
 * case. */
int audit_append(struct audit *a, struct audit_file *f, struct buffer *line);
int audit_flush(struct audit *a, struct audit_file *f);
/* The line that is appended next tells of the lost ones. */
void audit_gap_begin(struct audit_file *f);
/* Brings the file to the disk, in a thread of its own, and closes it. */
void audit_close(struct audit *a, struct audit_file *f);
/* Without the disk: anybody can be refused as often as he likes. flags: of its record. */
void audit_close_now(struct audit *a, struct audit_file *f, uint32_t flags);
void audit_file_name(const char *id, char ret[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)]);
int audit_remove(int dir_fd, const char *id);
/* A descriptor, or -errno. */
int audit_open_for_reading(int dir_fd, const char *id);

#endif
