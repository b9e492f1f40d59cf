#include "daemon/control/audit/audit_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/number.h"
#include "daemon/control/audit/timestamp.h"

#define PREFIX "index."
/* Ends that wait for room on the disk. */
#define UNWRITTEN_MAX 4096

struct audit_unwritten {
	STAILQ_ENTRY(audit_unwritten) link;
	struct audit_record record;
};

void audit_index_name(uint64_t generation, char ret[AUDIT_INDEX_NAME_SIZE])
{
	snprintf(ret, AUDIT_INDEX_NAME_SIZE, PREFIX "%08" PRIu64, generation);
}

void audit_index_id(const struct audit_entry *entry, char ret[ISOD_ID_LEN + 1])
{
	snprintf(ret, ISOD_ID_LEN + 1, "%012" PRIx64, entry->key & 0xffffffffffffu);
}

static uint64_t key_of(const char *id)
{
	return strtoull(id, NULL, 16);
}

static size_t slot_of(const struct audit_index *ix, uint64_t key)
{
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (ix->table_size - 1);

	while (ix->table[i] != 0 && ix->entries[ix->table[i] - 1].key != key)
		i = (i + 1) & (ix->table_size - 1);
	return i;
}

struct audit_entry *audit_index_find(const struct audit_index *ix, const char *id)
{
	size_t i;

	if (ix->table_size == 0 || strspn(id, "0123456789abcdef") != ISOD_ID_LEN || id[ISOD_ID_LEN] != '\0')
		return NULL;
	i = slot_of(ix, key_of(id));
	if (ix->table[i] == 0 || ix->entries[ix->table[i] - 1].flags & AUDIT_ENTRY_REMOVED)
		return NULL;
	return &ix->entries[ix->table[i] - 1];
}

static int grow(struct audit_index *ix)
{
	size_t room = ix->room ? ix->room * 2 : 512;
	struct audit_entry *entries = reallocarray(ix->entries, room, sizeof(*entries));
	uint32_t *table;

	if (!entries)
		return -ENOMEM;
	ix->entries = entries;
	/* Half full at most. */
	table = calloc(room * 2, sizeof(*table));
	if (!table)
		return -ENOMEM;
	free(ix->table);
	ix->table = table;
	ix->table_size = room * 2;
	ix->room = room;
	for (size_t i = 0; i < ix->n_entries; i++)
		ix->table[slot_of(ix, entries[i].key)] = (uint32_t)i + 1;
	return 0;
}

/* The entry of that id, which is there afterwards. NULL without memory. */
static struct audit_entry *entry_for(struct audit_index *ix, const char *id)
{
	uint64_t key = key_of(id);
	size_t i;

	if (ix->n_entries == ix->room && grow(ix) < 0)
		return NULL;
	i = slot_of(ix, key);
	if (ix->table[i] == 0) {
		ix->entries[ix->n_entries] = (struct audit_entry){ .key = key };
		ix->table[i] = (uint32_t)++ix->n_entries;
	}
	return &ix->entries[ix->table[i] - 1];
}

static int remember(struct audit_index *ix, const struct audit_record *r, uint64_t place)
{
	struct audit_entry *entry;

	if (r->kind < AUDIT_RECORD_OPEN)
		return 0;
	entry = entry_for(ix, r->id);
	if (!entry)
		return -ENOMEM;
	ix->n_removed += r->kind == AUDIT_RECORD_REMOVED && !(entry->flags & AUDIT_ENTRY_REMOVED);
	ix->n_removed -= r->kind != AUDIT_RECORD_REMOVED && entry->flags & AUDIT_ENTRY_REMOVED;
	entry->flags = r->kind == AUDIT_RECORD_OPEN      ? AUDIT_ENTRY_OPEN
		       : r->kind == AUDIT_RECORD_REMOVED ? AUDIT_ENTRY_REMOVED
		       : r->flags & AUDIT_RECORD_REFUSED ? AUDIT_ENTRY_REFUSED
							 : 0;
	entry->uid = r->uid;
	entry->started = r->started;
	entry->ended = r->ended;
	entry->bytes = r->bytes;
	entry->denied = r->denied;
	entry->place = place;
	memcpy(entry->marks, r->marks, sizeof(entry->marks));
	return 0;
}

/* 0, or -errno; then the file is as it was. */
static int write_record(struct audit_index *ix, struct audit_record *r)
{
	const off_t end = (off_t)(ix->count * AUDIT_RECORD_SIZE);
	uint8_t data[AUDIT_RECORD_SIZE], hash[AUDIT_HASH_SIZE];
	ssize_t n;
	int result;

	r->number = ix->number + 1;
	r->time = timestamp_now();
	memcpy(r->prev, ix->head, sizeof(r->prev));
	if (r->kind == AUDIT_RECORD_OPEN) {
		memcpy(r->origin, ix->head, sizeof(r->origin));
		memcpy(r->hash, ix->head, sizeof(r->hash));
	}
	audit_record_write(r, data);
	result = audit_hash(data, sizeof(data), hash);
	if (result < 0)
		return result;
	do
		n = pwrite(ix->fd, data, sizeof(data), end);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(data)) {
		result = n < 0 ? -errno : -ENOSPC;
		return ftruncate(ix->fd, end) < 0 ? -errno : result;
	}
	ix->number++;
	memcpy(ix->head, hash, sizeof(hash));
	return remember(ix, r, ix->count++);
}

int audit_index_catch_up(struct audit_index *ix)
{
	struct audit_unwritten *first;

	while ((first = STAILQ_FIRST(&ix->unwritten))) {
		int r = write_record(ix, &first->record);

		if (r < 0)
			return r;
		STAILQ_REMOVE_HEAD(&ix->unwritten, link);
		ix->n_unwritten--;
		free(first);
	}
	return 0;
}

int audit_index_add(struct audit_index *ix, struct audit_record *r)
{
	struct audit_unwritten *later;
	int result = ix->fd < 0 ? -EBADF : audit_index_catch_up(ix);

	if (result == 0)
		result = write_record(ix, r);
	if (result == 0 || r->kind == AUDIT_RECORD_OPEN || ix->n_unwritten >= UNWRITTEN_MAX)
		return result;
	later = calloc(1, sizeof(*later));
	if (!later)
		return result;
	later->record = *r;
	STAILQ_INSERT_TAIL(&ix->unwritten, later, link);
	ix->n_unwritten++;
	return result;
}

int audit_index_record(const struct audit_index *ix, const struct audit_entry *entry, struct audit_record *ret)
{
	uint8_t data[AUDIT_RECORD_SIZE];
	ssize_t n = pread(ix->fd, data, sizeof(data), (off_t)(entry->place * AUDIT_RECORD_SIZE));

	if (n != sizeof(data))
		return n < 0 ? -errno : -ENODATA;
	return audit_record_read(data, ret);
}

void audit_index_forget(struct audit_index *ix)
{
	free(ix->entries);
	free(ix->table);
	ix->entries = NULL;
	ix->table = NULL;
	ix->n_entries = ix->room = ix->n_removed = ix->table_size = 0;
}

void audit_index_done(struct audit_index *ix)
{
	struct audit_unwritten *u;

	while ((u = STAILQ_FIRST(&ix->unwritten))) {
		STAILQ_REMOVE_HEAD(&ix->unwritten, link);
		free(u);
	}
	audit_index_forget(ix);
	ix->fd = fd_close(ix->fd);
}

/* The chain of one record after the other. False where it does not hold. */
static bool take_record(struct audit_index *ix, const uint8_t *data, bool *complete)
{
	struct audit_record r;
	bool fits = audit_record_read(data, &r) == 0;

	if (fits && ix->count == 0) {
		fits = r.kind == AUDIT_RECORD_BEGIN;
		*complete = !(r.flags & AUDIT_RECORD_FOLLOWS);
	} else if (fits) {
		fits = r.number == ix->number + 1 && memcmp(r.prev, ix->head, sizeof(r.prev)) == 0;
	}
	if (fits || audit_record_read(data, &r) == 0) {
		*complete = *complete || r.kind == AUDIT_RECORD_COMPLETE;
		ix->number = r.number;
		fits = remember(ix, &r, ix->count) == 0 && fits;
	}
	ix->count++;
	return audit_hash(data, AUDIT_RECORD_SIZE, ix->head) == 0 && fits;
}

/* -EUNATCH: it was not completed. */
int audit_index_read(struct audit_index *ix)
{
	const size_t chunk = 4096UL * AUDIT_RECORD_SIZE;
	_cleanup_free_ uint8_t *data = malloc(chunk);
	bool complete = false;
	struct stat st;
	ssize_t n;

	if (!data)
		return -ENOMEM;
	while ((n = pread(ix->fd, data, chunk, (off_t)(ix->count * AUDIT_RECORD_SIZE))) >= AUDIT_RECORD_SIZE)
		for (ssize_t at = 0; at + AUDIT_RECORD_SIZE <= n; at += AUDIT_RECORD_SIZE)
			if (!take_record(ix, data + at, &complete) && !ix->broken) {
				ix->broken = true;
				log_error("the index of the audit log is not as it was written, from record %" PRIu64
					  " on: see isoctl log verify",
					  ix->count);
			}
	if (n < 0 || fstat(ix->fd, &st) < 0)
		return -errno;
	if (!complete)
		return -EUNATCH;
	if (st.st_size % AUDIT_RECORD_SIZE == 0)
		return 0;
	log_warning(
		"half a record at the end of the audit log's index is cut off: isod-control was killed while it wrote");
	return ftruncate(ix->fd, (off_t)(ix->count * AUDIT_RECORD_SIZE)) < 0 ? -errno : 0;
}

/* The highest number below the given one; 0 = there is none. */
static uint64_t find_generation(int dir_fd, uint64_t below, bool *ret_sessions)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t found = 0, n;

	if (!dir) {
		fd_close(fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			*ret_sessions = *ret_sessions || strstr(entry->d_name, ".jsonl");
		else if (number_parse_u64(entry->d_name + strlen(PREFIX), UINT64_MAX - 1, &n) == 0 && n < below &&
			 n > found)
			found = n;
	}
	return found;
}

static int begin(struct audit_index *ix, bool sessions)
{
	struct audit_record first = { .kind = AUDIT_RECORD_BEGIN };
	char name[AUDIT_INDEX_NAME_SIZE];

	if (sessions)
		log_error("the index of the audit log is missing, and there are files of sessions: they cannot be "
			  "verified");
	ix->broken = sessions;
	ix->generation = 1;
	audit_index_name(1, name);
	ix->fd = openat(ix->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return ix->fd < 0 ? -errno : write_record(ix, &first);
}

int audit_index_open(struct audit_index *ix, int dir_fd)
{
	struct audit_record start = { .kind = AUDIT_RECORD_START };
	uint64_t below = UINT64_MAX;
	bool sessions = false;
	int r = -ENOENT;

	*ix = (struct audit_index){ .dir_fd = dir_fd, .fd = -1 };
	STAILQ_INIT(&ix->unwritten);
	while (r < 0 && (below = find_generation(dir_fd, below, &sessions)) > 0) {
		char name[AUDIT_INDEX_NAME_SIZE];

		audit_index_name(below, name);
		ix->fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		r = ix->fd < 0 ? -errno : audit_index_read(ix);
		ix->generation = below;
		if (r != -EUNATCH)
			break;
		/* A copy that a crash has ended: what it is of is still there. */
		unlinkat(dir_fd, name, 0);
		ix->fd = fd_close(ix->fd);
		audit_index_forget(ix);
		ix->count = ix->number = 0;
		ix->broken = false;
		memset(ix->head, 0, sizeof(ix->head));
	}
	if (r == -ENOENT || r == -EUNATCH)
		r = begin(ix, sessions);
	return r < 0 ? r : audit_index_add(ix, &start);
}
