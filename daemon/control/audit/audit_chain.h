#ifndef ISOD_CONTROL_AUDIT_CHAIN_H
#define ISOD_CONTROL_AUDIT_CHAIN_H
/*
 * The hash chain of an audit file. Each line ends in ,"seq":N,"prev":"HASH"}: its number, from 1 on, and the SHA-256 of
 * the line before it, without its line feed; that before the first line is the file's origin (audit_index.h). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define AUDIT_HASH_SIZE 32
#define AUDIT_HASH_TEXT (2 * AUDIT_HASH_SIZE + 1)

/* Longer than any line that is written. */
#define AUDIT_LINE_MAX (256U << 10)

struct audit_head {
	uint64_t seq; /* of the last line, 0 = there is none */
	uint8_t hash[AUDIT_HASH_SIZE];
};

/* 0, -ENOMEM, -EIO. */
int audit_hash(const void *data, size_t len, uint8_t ret[AUDIT_HASH_SIZE]);
void audit_hash_format(const uint8_t hash[AUDIT_HASH_SIZE], char ret[AUDIT_HASH_TEXT]);
/* Lower-case digits, and no more of them. 0 or -EINVAL. */
int audit_hash_parse(const char *text, size_t len, uint8_t ret[AUDIT_HASH_SIZE]);

/* line: an object with a member at least, without line feed. Adds the two members; head moves on to this line. 0 or
 * -errno, then nothing has changed. */
int audit_chain_add(struct audit_head *head, struct buffer *line);

enum audit_fault {
	AUDIT_FAULT_NONE,
	AUDIT_FAULT_EDITED,    /* the hash of a line is not the one that the next line, or the head, has of it */
	AUDIT_FAULT_CUT,       /* lines are missing */
	AUDIT_FAULT_REORDERED, /* lines stand in another order, or twice */
	AUDIT_FAULT_FOREIGN,   /* a line that is no line of this log */
	AUDIT_FAULT_ADDED,     /* lines follow that the head does not know */
};

/* Reads a file in pieces of any size. */
struct audit_check {
	struct audit_head head; /* of the last whole line read; .hash of the origin at first */
	enum audit_fault fault; /* the first */
	uint64_t fault_line;    /* 1-based place in the file */
	uint64_t wanted;        /* the number that was missing there */
	uint64_t lines;         /* whole ones */
	uint64_t bytes;         /* of the whole ones */
	uint64_t read;          /* of all */
	bool skipping;          /* in a line that is too long */
	struct buffer partial;  /* what follows the last line feed */
};

void audit_check_begin(struct audit_check *c, const uint8_t origin[AUDIT_HASH_SIZE]);
/* 0, -ENOMEM, -EIO. */
int audit_check_read(struct audit_check *c, const char *data, size_t len);
/* What the head kept elsewhere says of the file read so far. open: the file may have grown since. */
void audit_check_end(struct audit_check *c, const struct audit_head *head, bool open);
void audit_check_done(struct audit_check *c);

/* "intact", "edited", "cut", "reordered", "foreign", "added" */
const char *audit_fault_name(enum audit_fault fault);

#endif
