#ifndef ISOD_CONTROL_AUDIT_INDEX_H
#define ISOD_CONTROL_AUDIT_INDEX_H
/*
 * The index of the audit log: "index.N" in its folder, one record (audit_record.h) for each session file that begins,
 * ends or is removed, chained like the lines of those. It is the head that is kept apart from each file, and what
 * listings and searches look at instead of 100,000 files. In memory: a table by id, some 90 bytes each.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/control/audit/audit_record.h"

enum audit_entry_flags {
	AUDIT_ENTRY_OPEN = 1 << 0,    /* its file has not ended */
	AUDIT_ENTRY_REMOVED = 1 << 1, /* not in the table any more */
	AUDIT_ENTRY_REFUSED = 1 << 2, /* nothing ran */
	AUDIT_ENTRY_RESUMED = 1 << 3, /* open, begun by an earlier run, and taken up by this one */
};

struct audit_entry {
	uint64_t key; /* the id as a number */
	uint32_t uid;
	uint32_t flags;
	int64_t started, ended; /* .ended: 0 while it is open */
	uint64_t bytes;
	uint64_t denied;
	uint64_t place; /* of its last record in the file, in records */
	uint8_t marks[AUDIT_MARKS_SIZE];
};

struct audit_unwritten;

struct audit_index {
	int dir_fd; /* borrowed */
	int fd;
	uint64_t generation; /* N of its name */
	uint64_t count;      /* records in the file */
	uint64_t number;     /* of the last record */
	uint8_t head[AUDIT_HASH_SIZE];
	bool broken;                 /* what was read at the start did not fit together */
	struct audit_entry *entries; /* in the order of their begin */
	size_t n_entries, room, n_removed;
	uint32_t *table; /* 1 + place in entries, 0 = free */
	size_t table_size;
	STAILQ_HEAD(, audit_unwritten) unwritten; /* ends that found no room on the disk */
	unsigned n_unwritten;
};

/* Reads what is there, else begins it. Cuts off half a record at the end, which a crash leaves. A chain that is broken
 * is told in .broken, logged, and gone on with. 0 or -errno; audit_index_done() in any case. */
int audit_index_open(struct audit_index *ix, int dir_fd);
void audit_index_done(struct audit_index *ix);

/* Fills .number, .time and .prev, and for OPEN .hash and .origin, and writes it. 0 or -errno. An end (CLOSE, REMOVED)
 * is kept in memory and written later where it cannot be written now: -errno too. */
int audit_index_add(struct audit_index *ix, struct audit_record *r);
/* Writes what could not be written before. 0 or -errno. */
int audit_index_catch_up(struct audit_index *ix);

/* NULL where there is none, or no more. Until the next audit_index_add(). */
struct audit_entry *audit_index_find(const struct audit_index *ix, const char *id);
void audit_index_id(const struct audit_entry *entry, char ret[ISOD_ID_LEN + 1]);
/* The last record of it, from the disk. 0 or -errno. */
int audit_index_record(const struct audit_index *ix, const struct audit_entry *entry, struct audit_record *ret);

/* Writes the next file, with what is still there, once most records are about what is not. */
void audit_index_compact_if_due(struct audit_index *ix);

/* For audit_index_*.c. */
#define AUDIT_INDEX_NAME_SIZE 32
void audit_index_name(uint64_t generation, char ret[AUDIT_INDEX_NAME_SIZE]);
void audit_index_forget(struct audit_index *ix);
int audit_index_read(struct audit_index *ix);

#endif
