#ifndef ISOD_CONTROL_AUDIT_RECORD_H
#define ISOD_CONTROL_AUDIT_RECORD_H
/*
 * One record of the audit log's index: what is known of a session file apart from it, and of the index itself. Each
 * carries its number and the SHA-256 of the record before it. AUDIT_RECORD_SIZE bytes, little-endian, in the order of
 * the struct, zeros at the end. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "daemon/control/audit/audit_chain.h"

#define AUDIT_RECORD_SIZE 256
#define AUDIT_MARKS_SIZE 32

enum audit_record_kind {
	AUDIT_RECORD_BEGIN = 1, /* first of a file of the index; .prev is of the file before it */
	AUDIT_RECORD_COMPLETE,  /* all that was kept of the file before stands above */
	AUDIT_RECORD_START,     /* isod-control was started */
	AUDIT_RECORD_OPEN,  /* a session file was begun; .hash is its origin, so that the file fits this place alone */
	AUDIT_RECORD_CLOSE, /* it has ended: .lines of them, .hash of the last */
	AUDIT_RECORD_REMOVED, /* it was removed to keep to the limits; .hash of its last line */
	AUDIT_RECORD_KIND_END
};

enum audit_record_flags {
	AUDIT_RECORD_FOLLOWS = 1 << 0,   /* BEGIN: a file came before this one, and COMPLETE must follow */
	AUDIT_RECORD_RECOVERED = 1 << 1, /* CLOSE: at the start after isod-control was killed */
	AUDIT_RECORD_SHORT = 1 << 2,     /* CLOSE: lines were missing then that had been written */
	AUDIT_RECORD_BROKEN = 1 << 3,    /* CLOSE: the chain was broken already then */
	AUDIT_RECORD_REFUSED = 1 << 4,   /* CLOSE: nothing ran */
	AUDIT_RECORD_FLAGS_END = 1 << 5
};

struct audit_record {
	enum audit_record_kind kind;
	uint32_t flags;
	uint64_t number; /* from 1 on, through all files of the index */
	int64_t time;    /* timestamp.h, as are the other two */
	uint32_t uid;
	char id[ISOD_ID_LEN + 1]; /* "" where it is about no session */
	int64_t started;
	int64_t ended;
	uint64_t lines;
	uint64_t bytes;
	uint64_t denied; /* lines that say that something was refused */
	uint8_t hash[AUDIT_HASH_SIZE];
	uint8_t origin[AUDIT_HASH_SIZE];
	uint8_t prev[AUDIT_HASH_SIZE];
	uint8_t marks[AUDIT_MARKS_SIZE]; /* audit_marks_add() */
};

void audit_record_write(const struct audit_record *r, uint8_t ret[AUDIT_RECORD_SIZE]);
/* 0, or -EBADMSG for what audit_record_write() does not write. */
int audit_record_read(const uint8_t data[AUDIT_RECORD_SIZE], struct audit_record *ret);

/* A set of words (hosts, addresses, programs) that never forgets one, and seldom has one that it was not told. */
void audit_marks_add(uint8_t marks[AUDIT_MARKS_SIZE], const char *word);
bool audit_marks_may_have(const uint8_t marks[AUDIT_MARKS_SIZE], const char *word);
/* A program is known by its whole path and by its name. */
void audit_marks_add_program(uint8_t marks[AUDIT_MARKS_SIZE], const char *program);

#endif
