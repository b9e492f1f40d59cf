#include "daemon/control/audit/audit_live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define AT_SEQ 16
#define AT_BYTES 24
#define AT_HASH 32

static void put_u64(uint8_t *at, uint64_t value)
{
	for (int i = 0; i < 8; i++, value >>= 8)
		at[i] = (uint8_t)value;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t value = 0;

	for (int i = 7; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

static bool id_fits(const uint8_t *id)
{
	for (int i = 0; i < ISOD_ID_LEN; i++)
		if (!((id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f')))
			return false;
	return true;
}

int audit_live_open(struct audit_live *l, int dir_fd)
{
	_cleanup_free_ uint8_t *data = calloc(AUDIT_LIVE_MAX, AUDIT_LIVE_SIZE);
	ssize_t n;

	*l = (struct audit_live){ .fd = -1, .ids = calloc(AUDIT_LIVE_MAX, sizeof(*l->ids)) };
	if (!data || !l->ids)
		return -ENOMEM;
	l->fd = openat(dir_fd, "live", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	n = l->fd < 0 ? -1 : pread(l->fd, data, (size_t)AUDIT_LIVE_MAX * AUDIT_LIVE_SIZE, 0);
	if (n < 0)
		return -errno;
	for (size_t i = 0; i < AUDIT_LIVE_MAX; i++)
		if (id_fits(data + i * AUDIT_LIVE_SIZE))
			memcpy(l->ids[i], data + i * AUDIT_LIVE_SIZE, ISOD_ID_LEN);
	return 0;
}

void audit_live_done(struct audit_live *l)
{
	l->fd = fd_close(l->fd);
	free(l->ids);
	l->ids = NULL;
}

static int place_of(const struct audit_live *l, const char *id)
{
	for (int i = 0; l->ids && i < AUDIT_LIVE_MAX; i++)
		if (strcmp(l->ids[i], id) == 0)
			return i;
	return -1;
}

int audit_live_take(struct audit_live *l, const char *id)
{
	int place = place_of(l, id);

	if (place < 0)
		place = place_of(l, "");
	if (place >= 0)
		memcpy(l->ids[place], id, ISOD_ID_LEN + 1);
	return place;
}

static int write_place(const struct audit_live *l, int place, const uint8_t data[AUDIT_LIVE_SIZE])
{
	ssize_t n = pwrite(l->fd, data, AUDIT_LIVE_SIZE, (off_t)place * AUDIT_LIVE_SIZE);

	return n == AUDIT_LIVE_SIZE ? 0 : n < 0 ? -errno : -ENOSPC;
}

int audit_live_put(const struct audit_live *l, int place, const struct audit_head *head, off_t size)
{
	uint8_t data[AUDIT_LIVE_SIZE] = { 0 };

	if (place < 0 || l->fd < 0)
		return 0;
	memcpy(data, l->ids[place], ISOD_ID_LEN);
	put_u64(data + AT_SEQ, head->seq);
	put_u64(data + AT_BYTES, (uint64_t)size);
	memcpy(data + AT_HASH, head->hash, AUDIT_HASH_SIZE);
	return write_place(l, place, data);
}

void audit_live_drop(struct audit_live *l, int place)
{
	static const uint8_t nothing[AUDIT_LIVE_SIZE];

	if (place < 0 || !l->ids)
		return;
	memset(l->ids[place], 0, sizeof(l->ids[place]));
	if (l->fd >= 0)
		(void)write_place(l, place, nothing);
}

int audit_live_find(const struct audit_live *l, const char *id, struct audit_head *ret)
{
	uint8_t data[AUDIT_LIVE_SIZE];
	int place = place_of(l, id);

	if (place < 0)
		return -ENOENT;
	if (pread(l->fd, data, sizeof(data), (off_t)place * AUDIT_LIVE_SIZE) != sizeof(data) ||
	    memcmp(data, id, ISOD_ID_LEN) != 0)
		return -EBADMSG;
	ret->seq = get_u64(data + AT_SEQ);
	memcpy(ret->hash, data + AT_HASH, AUDIT_HASH_SIZE);
	return 0;
}
