#include "daemon/control/audit/audit_keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/control/audit/history.h"

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

static void trim(const struct audit_keep *k, struct audit_owner *o)
{
	struct kept *file;

	while ((o->n_live + o->n_ended > LIMIT_AUDIT_FILES || o->bytes > LIMIT_AUDIT_BYTES) &&
	       (file = TAILQ_FIRST(&o->ended))) {
		int r = audit_remove(k->dir_fd, file->id);

		if (r < 0 && r != -ENOENT)
			log_error("the old audit file of session %s cannot be removed: %s", file->id, strerror(-r));
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

void audit_keep_again(struct audit_keep *k, uint32_t uid, const char *id)
{
	struct audit_owner *o = owner_of(k, uid);
	struct kept *file;

	if (!o)
		return;
	TAILQ_FOREACH (file, &o->ended, link) {
		if (strcmp(file->id, id) != 0)
			continue;
		forget(o, file);
		break;
	}
	o->n_live++;
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

void audit_keep_open(struct audit_keep *k, int dir_fd)
{
	struct history_list found = { 0 };
	struct audit_owner *o;

	k->dir_fd = dir_fd;
	LIST_INIT(&k->owners);
	history_scan(dir_fd, SIZE_MAX, &found);
	for (size_t i = found.count; i > 0; i--) {
		const struct history_item *item = &found.items[i - 1];

		/* Files that nobody's name can be read from are kept as if they were all one user's. */
		o = owner_of(k, history_read_uid(dir_fd, item->id));
		if (o)
			add_ended(o, item->id, item->size);
	}
	/* Nothing is removed yet: isod is about to say which of them are of sessions that run. */
	history_list_done(&found);
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
