#include "daemon/control/audit/audit_keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/control/audit/audit.h"

struct kept {
	TAILQ_ENTRY(kept) link;
	off_t size;
	char id[ISOD_ID_LEN + 1];
};

struct audit_owner {
	LIST_ENTRY(audit_owner) entry;
	uint32_t uid;
	unsigned n_live;
	unsigned n_ended;
	uint64_t bytes;                    /* of ended ones */
	TAILQ_HEAD(kept_list, kept) ended; /* oldest first */
};

/* NULL without memory: then nothing is removed either. */
static struct audit_owner *owner_of(struct audit_keep *k, uint32_t uid)
{
	struct audit_owner *o;

	LIST_FOREACH (o, &k->owners, entry)
		if (o->uid == uid)
			return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->uid = uid;
	TAILQ_INIT(&o->ended);
	LIST_INSERT_HEAD(&k->owners, o, entry);
	return o;
}

static void forget(struct audit_owner *o, struct kept *file)
{
	TAILQ_REMOVE(&o->ended, file, link);
	o->n_ended--;
	o->bytes -= (uint64_t)file->size;
	free(file);
}

/* The record first: a file that is gone without one would look as if somebody had removed it. */
static void remove_file(const struct audit_keep *k, const struct kept *file)
{
	const struct audit_entry *entry = audit_index_find(k->index, file->id);
	struct audit_record record;
	int r = entry ? audit_index_record(k->index, entry, &record) : 0;

	if (entry && r == 0) {
		record.kind = AUDIT_RECORD_REMOVED;
		r = audit_index_add(k->index, &record);
	}
	if (r < 0)
		log_error("the removal of the old audit file of session %s cannot be written down: %s", file->id,
			  strerror(-r));
	r = audit_remove(k->dir_fd, file->id);
	if (r < 0 && r != -ENOENT)
		log_error("the old audit file of session %s cannot be removed: %s", file->id, strerror(-r));
}

static void trim(const struct audit_keep *k, struct audit_owner *o)
{
	struct kept *file;

	while ((o->n_live + o->n_ended > LIMIT_AUDIT_FILES || o->bytes > LIMIT_AUDIT_BYTES) &&
	       (file = TAILQ_FIRST(&o->ended))) {
		remove_file(k, file);
		forget(o, file);
	}
}

static void add_ended(struct audit_owner *o, const char *id, off_t size)
{
	struct kept *file = calloc(1, sizeof(*file));

	if (!file)
		return;
	memcpy(file->id, id, ISOD_ID_LEN);
	file->size = size;
	TAILQ_INSERT_TAIL(&o->ended, file, link);
	o->n_ended++;
	o->bytes += (uint64_t)size;
}

void audit_keep_begin(struct audit_keep *k, uint32_t uid)
{
	struct audit_owner *o = owner_of(k, uid);

	if (!o)
		return;
	o->n_live++;
	trim(k, o);
}

void audit_keep_end(struct audit_keep *k, uint32_t uid, const char *id, off_t size)
{
	struct audit_owner *o = owner_of(k, uid);

	if (!o)
		return;
	if (o->n_live > 0)
		o->n_live--;
	add_ended(o, id, size);
	trim(k, o);
}

static int first_ended(const void *a, const void *b)
{
	const struct audit_entry *const *x = a, *const *y = b;

	return ((*x)->ended > (*y)->ended) - ((*x)->ended < (*y)->ended);
}

void audit_keep_open(struct audit_keep *k, struct audit_index *index, int dir_fd)
{
	_cleanup_free_ const struct audit_entry **ended = calloc(index->n_entries + 1, sizeof(void *));
	struct audit_owner *o;
	size_t n = 0;

	k->dir_fd = dir_fd;
	k->index = index;
	LIST_INIT(&k->owners);
	for (size_t i = 0; ended && i < index->n_entries; i++)
		if (!(index->entries[i].flags & (AUDIT_ENTRY_OPEN | AUDIT_ENTRY_REMOVED)))
			ended[n++] = &index->entries[i];
	if (n > 1)
		qsort(ended, n, sizeof(void *), first_ended);
	for (size_t i = 0; i < n; i++) {
		char id[ISOD_ID_LEN + 1];

		audit_index_id(ended[i], id);
		o = owner_of(k, ended[i]->uid);
		if (o)
			add_ended(o, id, (off_t)ended[i]->bytes);
	}
	LIST_FOREACH (o, &k->owners, entry)
		trim(k, o);
}

void audit_keep_done(struct audit_keep *k)
{
	struct audit_owner *o;

	while ((o = LIST_FIRST(&k->owners))) {
		while (!TAILQ_EMPTY(&o->ended))
			forget(o, TAILQ_FIRST(&o->ended));
		LIST_REMOVE(o, entry);
		free(o);
	}
}
