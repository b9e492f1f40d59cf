/* The next file of the index: what is still there of the one before, and the chain goes on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/audit/audit_index.h"
#include "daemon/control/audit/timestamp.h"

/* Records that are not worth a copy. */
#define SMALL 4096

static int append(struct buffer *out, struct audit_record *r, uint64_t *number, uint8_t head[AUDIT_HASH_SIZE])
{
	uint8_t data[AUDIT_RECORD_SIZE];
	int result;

	r->number = ++*number;
	memcpy(r->prev, head, AUDIT_HASH_SIZE);
	audit_record_write(r, data);
	result = audit_hash(data, sizeof(data), head);
	return result < 0 ? result : buffer_append(out, data, sizeof(data));
}

static int copy(const struct audit_index *ix, struct buffer *out)
{
	struct audit_record edge = { .kind = AUDIT_RECORD_BEGIN,
				     .flags = AUDIT_RECORD_FOLLOWS,
				     .time = timestamp_now() };
	uint64_t number = ix->number;
	uint8_t head[AUDIT_HASH_SIZE];
	int r;

	memcpy(head, ix->head, sizeof(head));
	r = append(out, &edge, &number, head);
	for (size_t i = 0; r == 0 && i < ix->n_entries; i++) {
		struct audit_record record;

		if (ix->entries[i].flags & AUDIT_ENTRY_REMOVED)
			continue;
		r = audit_index_record(ix, &ix->entries[i], &record);
		if (r == 0)
			r = append(out, &record, &number, head);
	}
	edge.kind = AUDIT_RECORD_COMPLETE;
	edge.flags = 0;
	return r < 0 ? r : append(out, &edge, &number, head);
}

static int compact(struct audit_index *ix)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(SIZE_MAX / 2);
	struct audit_index next = { .dir_fd = ix->dir_fd, .generation = ix->generation + 1, .fd = -1 };
	char name[AUDIT_INDEX_NAME_SIZE], old[AUDIT_INDEX_NAME_SIZE];
	int r = copy(ix, &out);

	audit_index_name(ix->generation, old);
	audit_index_name(next.generation, name);
	if (r < 0)
		return r;
	next.fd = openat(ix->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (next.fd < 0)
		return -errno;
	r = fd_write_full(next.fd, out.data, out.len);
	if (r == 0 && fdatasync(next.fd) < 0)
		r = -errno;
	if (r == 0)
		r = audit_index_read(&next);
	if (r < 0) {
		fd_close(next.fd);
		audit_index_forget(&next);
		unlinkat(ix->dir_fd, name, 0);
		return r;
	}
	audit_index_forget(ix);
	fd_close(ix->fd);
	ix->fd = next.fd;
	ix->generation = next.generation;
	ix->count = next.count;
	ix->number = next.number;
	memcpy(ix->head, next.head, sizeof(ix->head));
	ix->entries = next.entries;
	ix->n_entries = next.n_entries;
	ix->room = next.room;
	ix->n_removed = next.n_removed;
	ix->table = next.table;
	ix->table_size = next.table_size;
	return unlinkat(ix->dir_fd, old, 0) < 0 ? -errno : 0;
}

void audit_index_compact_if_due(struct audit_index *ix)
{
	const uint64_t there = ix->n_entries - ix->n_removed;
	int r;

	/* One that is broken stays as it is: it is evidence. */
	if (ix->fd < 0 || ix->broken || ix->n_unwritten > 0 || ix->count < SMALL || ix->count < 4 * there)
		return;
	r = compact(ix);
	if (r < 0)
		log_error("the index of the audit log cannot be written anew: %s", strerror(-r));
}
