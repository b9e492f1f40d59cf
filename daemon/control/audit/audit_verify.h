#ifndef ISOD_CONTROL_AUDIT_VERIFY_H
#define ISOD_CONTROL_AUDIT_VERIFY_H
/*
 * Holds session files against the index, and the index against itself, as they are on the disk: in a thread of its own,
 * while sessions run. What was written when it was asked for is looked at.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "daemon/control/audit/audit_index.h"

/* What is told one by one; more are counted. */
#define AUDIT_FINDINGS_MAX 1000

struct audit_finding {
	char id[ISOD_ID_LEN + 1]; /* "": the index itself */
	const char *state;        /* audit_fault_name(), "missing", "unknown", "unreadable", "index", "anchor" */
	const char *text;         /* a sentence */
	uint64_t line;            /* of the file, or record of the index; 0 = of none */
};

/* One file that is to be looked at. */
struct audit_subject {
	char id[ISOD_ID_LEN + 1];
	bool open;      /* the next four are known already; else they are in the record at .place */
	uint64_t place; /* in the index, in records */
	struct audit_head head;
	uint8_t origin[AUDIT_HASH_SIZE];
	uint64_t bytes;
};

struct audit_verify {
	/* Filled by the caller. */
	int dir_fd;   /* of its own, as is the next */
	int index_fd; /* of the file that it was then */
	uint64_t count, number;
	uint8_t head[AUDIT_HASH_SIZE];
	bool strangers;         /* look for files that the index does not know */
	uint64_t anchor_number; /* a record, 0 = none, whose hash was written down elsewhere */
	uint8_t anchor_hash[AUDIT_HASH_SIZE];
	struct audit_subject *subjects;
	size_t n_subjects;
	/* Found. */
	struct audit_finding *findings;
	size_t n_findings;
	uint64_t n_more; /* that had no place */
	uint64_t sessions, lines, bytes;
	int error; /* -errno: it could not be finished */
};

/* Blocks. */
void audit_verify_run(struct audit_verify *v);
/* Closes and frees what is in it. */
void audit_verify_done(struct audit_verify *v);

/* For audit_verify_run() and who finds out more afterwards. */
void audit_verify_tell(struct audit_verify *v, const char *id, const char *state, uint64_t line, const char *text);

#endif
