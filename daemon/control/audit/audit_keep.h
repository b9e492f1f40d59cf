#ifndef ISOD_CONTROL_AUDIT_KEEP_H
#define ISOD_CONTROL_AUDIT_KEEP_H
/* How much of the audit log is kept: LIMIT_AUDIT_FILES files and LIMIT_AUDIT_BYTES of one uid. The files of sessions
 * that ended longest ago are removed first; those of live sessions never. */
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct audit_index;
struct audit_owner;

struct audit_keep {
	int dir_fd;                /* borrowed, as is the index */
	struct audit_index *index; /* is told of what is removed */
	LIST_HEAD(audit_owners, audit_owner) owners;
};

/* With the files that are there already, in the order of their ends. */
void audit_keep_open(struct audit_keep *k, struct audit_index *index, int dir_fd);
void audit_keep_done(struct audit_keep *k);

/* A file of uid begins; it ends with this size. */
void audit_keep_begin(struct audit_keep *k, uint32_t uid);
void audit_keep_end(struct audit_keep *k, uint32_t uid, const char *id, off_t size);

#endif
