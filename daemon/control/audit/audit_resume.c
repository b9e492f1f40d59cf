/* What an earlier run of isod-control has left without an end: taken up where it stops, or ended. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/control/audit/audit.h"
#include "daemon/control/audit/audit_event.h"

#define CHUNK (256U << 10)

static int read_file(int fd, struct audit_check *check)
{
	_cleanup_free_ char *data = malloc(CHUNK);
	ssize_t n;
	int r = data ? 0 : -ENOMEM;

	while (r == 0) {
		n = pread(fd, data, CHUNK, (off_t)check->read);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		r = audit_check_read(check, data, (size_t)n);
	}
	return r;
}

/* What the last write before the end has left of a line; nothing was said of it to anybody. */
static int cut_torn(int fd, const struct audit_check *check)
{
	if (check->read == check->bytes)
		return 0;
	return ftruncate(fd, (off_t)check->bytes) < 0 ? -errno : 0;
}

static void take_position(struct audit_file *f, const struct audit_check *check, const struct audit_head *live)
{
	f->size = (off_t)check->bytes;
	f->head = f->written = check->head;
	f->record_flags = AUDIT_RECORD_RECOVERED;
	if (live && live->seq > check->head.seq)
		f->record_flags |= AUDIT_RECORD_SHORT;
	if (check->fault != AUDIT_FAULT_NONE)
		f->record_flags |= AUDIT_RECORD_BROKEN;
}

int audit_resume(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret)
{
	struct audit_entry *entry = audit_index_find(&a->index, id);
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];
	_cleanup_close_ int fd = -1;
	struct audit_record record;
	struct audit_check check;
	struct audit_head live = { 0 };
	bool has_live;
	int r;

	if (!entry || !(entry->flags & AUDIT_ENTRY_OPEN) || entry->uid != uid)
		return -ENOENT;
	r = audit_index_record(&a->index, entry, &record);
	if (r < 0)
		return r;
	audit_file_name(id, name);
	fd = openat(a->dir_fd, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	audit_check_begin(&check, record.origin);
	has_live = audit_live_find(&a->live, id, &live) == 0;
	r = read_file(fd, &check);
	if (r == 0 && has_live)
		audit_check_end(&check, &live, true);
	if (r == 0)
		r = cut_torn(fd, &check);
	if (r == 0) {
		*ret = (struct audit_file){ .fd = take_fd(&fd), .uid = record.uid, .started = record.started };
		memcpy(ret->id, id, ISOD_ID_LEN);
		memcpy(ret->origin, record.origin, sizeof(ret->origin));
		/* Which hosts and refusals its lines tell of is not known any more: it is looked into at each search.
		 */
		memset(ret->marks, 0xff, sizeof(ret->marks));
		ret->denied = check.lines;
		ret->pending.max = AUDIT_PENDING_MAX;
		take_position(ret, &check, has_live ? &live : NULL);
		ret->place = audit_live_take(&a->live, id);
		entry->flags |= AUDIT_ENTRY_RESUMED;
		audit_keep_begin(&a->keep, record.uid);
		audit_resumed(a, ret, check.read - check.bytes,
			      live.seq > check.head.seq ? live.seq - check.head.seq : 0,
			      check.fault != AUDIT_FAULT_NONE);
	}
	audit_check_done(&check);
	return r;
}

/* A file that is gone has its end in the index all the same: verify then finds it missing. */
static void end_missing(struct audit *a, const struct audit_entry *entry)
{
	struct audit_record record;

	if (audit_index_record(&a->index, entry, &record) < 0)
		return;
	record.kind = AUDIT_RECORD_CLOSE;
	record.flags = AUDIT_RECORD_RECOVERED | AUDIT_RECORD_SHORT;
	record.ended = record.started;
	(void)audit_index_add(&a->index, &record);
}

void audit_settle(struct audit *a)
{
	if (a->settled)
		return;
	a->settled = true;
	/* By number: the table moves when records are added, and only ever grows. */
	for (size_t i = 0; i < a->index.n_entries; i++) {
		const struct audit_entry *entry = &a->index.entries[i];
		struct audit_file f = AUDIT_FILE_INIT;
		char id[ISOD_ID_LEN + 1];
		int r;

		if (!(entry->flags & AUDIT_ENTRY_OPEN) || entry->flags & AUDIT_ENTRY_RESUMED)
			continue;
		audit_index_id(entry, id);
		r = audit_resume(a, entry->uid, id, &f);
		if (r == 0)
			audit_close(a, &f);
		else if (r == -ENOENT)
			end_missing(a, &a->index.entries[i]);
		if (r < 0)
			log_error("the audit file of session %s cannot be taken up: %s", id, strerror(-r));
	}
}
