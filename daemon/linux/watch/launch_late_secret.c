#include "daemon/linux/watch/launch_late_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/watch/launch_watch_folder.h"

#define BUCKETS 8192
#define ROOM (LAUNCH_LATE_SECRETS_HOST + LAUNCH_LATE_SECRETS_OWN)
/* Ends a bucket. */
#define NONE UINT32_MAX

struct entry {
	uint64_t key;
	char *path; /* NULL: free */
	uint32_t next;
	bool firm;
};

struct launch_late_secrets {
	uint32_t first[BUCKETS];
	size_t n[LAUNCH_LATE_SECRET_KINDS]; /* ever entered */
	struct entry entries[ROOM];         /* of the host, then the session's own */
};

static const struct {
	uint32_t from, room;
} rings[LAUNCH_LATE_SECRET_KINDS] = {
	[LAUNCH_LATE_SECRET_HOST] = { 0, LAUNCH_LATE_SECRETS_HOST },
	[LAUNCH_LATE_SECRET_OWN] = { LAUNCH_LATE_SECRETS_HOST, LAUNCH_LATE_SECRETS_OWN },
};

struct launch_late_secrets *launch_late_secret_new(void)
{
	struct launch_late_secrets *s = calloc(1, sizeof(*s));

	for (size_t i = 0; s && i < BUCKETS; i++)
		s->first[i] = NONE;
	return s;
}

struct launch_late_secrets *launch_late_secret_free(struct launch_late_secrets *s)
{
	for (size_t i = 0; s && i < ROOM; i++)
		free(s->entries[i].path);
	free(s);
	return NULL;
}

static uint32_t *bucket(struct launch_late_secrets *s, uint64_t key)
{
	return &s->first[(key ^ key >> 32) % BUCKETS];
}

static struct entry *find(const struct launch_late_secrets *s, uint64_t key)
{
	uint32_t at = s->first[(key ^ key >> 32) % BUCKETS];

	while (at != NONE && s->entries[at].key != key)
		at = s->entries[at].next;
	return at == NONE ? NULL : (struct entry *)&s->entries[at];
}

static void take_out(struct launch_late_secrets *s, uint32_t index)
{
	struct entry *e = &s->entries[index];
	uint32_t *link;

	if (!e->path)
		return;
	for (link = bucket(s, e->key); *link != index;)
		link = &s->entries[*link].next;
	*link = e->next;
	free(e->path);
	e->path = NULL;
}

void launch_late_secret_add(struct launch_late_secrets *s, uint64_t key, enum launch_late_secret_of of,
			    const char *path, bool firm)
{
	struct entry *known = find(s, key);
	_cleanup_free_ char *copy = NULL;
	uint32_t index;

	if (known && (known->firm || !firm))
		return;
	copy = strdup(path);
	if (!copy)
		return;
	if (known) {
		free(known->path);
		known->path = take_ptr(copy);
		known->firm = true;
		return;
	}
	index = rings[of].from + (uint32_t)(s->n[of]++ % rings[of].room);
	take_out(s, index);
	s->entries[index] = (struct entry){ .key = key, .path = take_ptr(copy), .next = *bucket(s, key), .firm = firm };
	*bucket(s, key) = index;
}

const char *launch_late_secret_find(const struct launch_late_secrets *s, uint64_t key)
{
	const struct entry *e = find(s, key);

	return e ? e->path : NULL;
}

bool launch_late_secret_has_any(const struct launch_late_secrets *s)
{
	return s->n[LAUNCH_LATE_SECRET_HOST] + s->n[LAUNCH_LATE_SECRET_OWN] > 0;
}

int launch_late_secret_key_of_fd(int fd, uint64_t *ret)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	struct statfs fs;
	int mount;

	if (name_to_handle_at(fd, "", &h.handle, &mount, AT_EMPTY_PATH) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	*ret = launch_watch_folder_key(&fs.f_fsid, sizeof(fs.f_fsid), h.handle.handle_type, h.handle.f_handle,
				       h.handle.handle_bytes);
	return 0;
}

/* Opened for its path alone, which asks nobody. */
int launch_late_secret_key_of_path(const char *path, uint64_t *ret)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : launch_late_secret_key_of_fd(fd, ret);
}
