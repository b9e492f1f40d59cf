#include "daemon/control/audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/control/audit/timestamp.h"

void audit_file_name(const char *id, char ret[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)])
{
	snprintf(ret, ISOD_ID_LEN + sizeof(AUDIT_SUFFIX), "%.*s" AUDIT_SUFFIX, ISOD_ID_LEN, id);
}

int audit_begin(struct audit *a, uv_loop_t *loop, int dir_fd)
{
	int r, live;

	*a = (struct audit){ .loop = loop, .dir_fd = dir_fd };
	r = audit_index_open(&a->index, dir_fd);
	live = audit_live_open(&a->live, dir_fd);
	audit_keep_open(&a->keep, &a->index, dir_fd);
	return r < 0 ? r : live;
}

void audit_done(struct audit *a)
{
	audit_keep_done(&a->keep);
	audit_live_done(&a->live);
	audit_index_done(&a->index);
	a->dir_fd = fd_close(a->dir_fd);
}

/* The file first: an index that knows of a file that is not there would say that somebody has removed it. */
int audit_open(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret)
{
	struct audit_record record = { .kind = AUDIT_RECORD_OPEN, .uid = uid, .started = timestamp_now() };
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];
	int fd, r;

	audit_index_compact_if_due(&a->index);
	audit_file_name(id, name);
	fd = openat(a->dir_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	memcpy(record.id, id, ISOD_ID_LEN);
	r = audit_index_add(&a->index, &record);
	if (r < 0) {
		fd_close(fd);
		unlinkat(a->dir_fd, name, 0);
		return r;
	}
	*ret = (struct audit_file){ .fd = fd, .uid = uid, .place = -1, .started = record.started };
	ret->pending.max = AUDIT_PENDING_MAX;
	memcpy(ret->id, id, ISOD_ID_LEN);
	memcpy(ret->origin, record.origin, sizeof(ret->origin));
	memcpy(ret->head.hash, record.origin, sizeof(ret->head.hash));
	ret->written = ret->head;
	audit_keep_begin(&a->keep, uid);
	return 0;
}

int audit_open_for_reading(int dir_fd, const char *id)
{
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];
	int fd;

	audit_file_name(id, name);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int audit_remove(int dir_fd, const char *id)
{
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];

	audit_file_name(id, name);
	return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

static int write_lines(struct audit_file *f)
{
	ssize_t n;

	do
		n = write(f->fd, f->pending.data, f->pending.len);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)f->pending.len) {
		f->size += n;
		return 0;
	}
	if (n < 0)
		return -errno;
	/* Half a line would make the next one unreadable too. */
	return ftruncate(f->fd, f->size) < 0 ? -errno : -ENOSPC;
}

static void failed(struct audit *a, int r)
{
	if (!a->failing)
		log_error("the audit log cannot be written: %s; events are lost until it can", strerror(-r));
	a->failing = -r;
}

int audit_flush(struct audit *a, struct audit_file *f)
{
	int r;

	if (f->n_pending == 0)
		return 0;
	r = write_lines(f);
	if (r < 0) {
		uint64_t lost = f->n_pending - f->n_gaps;

		/* The chain goes on from what is in the file. */
		f->head = f->written;
		f->lost += lost + f->told;
		a->lost += lost;
		failed(a, r);
	} else {
		f->written = f->head;
		r = audit_live_put(&a->live, f->place, &f->head, f->size);
		if (r < 0)
			failed(a, r);
		else if (a->failing)
			log_info("the audit log can be written again");
		if (r == 0)
			a->failing = 0;
		r = 0;
	}
	f->pending.len = 0;
	f->n_pending = f->n_gaps = f->told = 0;
	return r;
}

void audit_gap_begin(struct audit_file *f)
{
	f->n_gaps++;
	f->told += f->lost;
	f->lost = 0;
}

int audit_append(struct audit *a, struct audit_file *f, struct buffer *line)
{
	const struct audit_head before = f->head;
	int r = f->fd < 0 ? -EBADF : audit_chain_add(&f->head, line);

	if (r == 0)
		r = buffer_append(line, "\n", 1);
	if (r == 0)
		r = buffer_append(&f->pending, line->data, line->len);
	if (r < 0) {
		f->head = before;
		f->lost++;
		a->lost++;
		failed(a, r);
		return r;
	}
	f->n_pending++;
	return audit_flush(a, f);
}

struct sync {
	uv_fs_t request;
	int fd;
};

static void on_synced(uv_fs_t *request)
{
	struct sync *sync = request->data;

	if (request->result < 0)
		log_error("an audit file could not be brought to the disk: %s", uv_strerror((int)request->result));
	fd_close(sync->fd);
	uv_fs_req_cleanup(request);
	free(sync);
}

/* The end of a file, in the index. */
static void tell_end(struct audit *a, struct audit_file *f, uint32_t flags)
{
	struct audit_record record = {
		.kind = AUDIT_RECORD_CLOSE,
		.flags = f->record_flags | flags,
		.uid = f->uid,
		.started = f->started,
		.ended = timestamp_now(),
		.lines = f->written.seq,
		.bytes = (uint64_t)f->size,
		.denied = f->denied,
	};
	int r;

	memcpy(record.id, f->id, ISOD_ID_LEN);
	memcpy(record.hash, f->written.hash, sizeof(record.hash));
	memcpy(record.origin, f->origin, sizeof(record.origin));
	memcpy(record.marks, f->marks, sizeof(record.marks));
	r = audit_index_add(&a->index, &record);
	if (r < 0)
		failed(a, r);
	audit_live_drop(&a->live, f->place);
	buffer_done(&f->pending);
	audit_keep_end(&a->keep, f->uid, f->id, f->size);
}

void audit_close(struct audit *a, struct audit_file *f)
{
	struct sync *sync = f->fd < 0 ? NULL : calloc(1, sizeof(*sync));
	int fd;

	if (f->fd >= 0) {
		audit_flush(a, f);
		tell_end(a, f, 0);
	}
	fd = take_fd(&f->fd);
	if (!sync) {
		fd_close(fd);
		return;
	}
	sync->fd = fd;
	sync->request.data = sync;
	if (uv_fs_fdatasync(a->loop, &sync->request, fd, on_synced) < 0) {
		fd_close(fd);
		free(sync);
	}
}

void audit_close_now(struct audit *a, struct audit_file *f, uint32_t flags)
{
	if (f->fd < 0)
		return;
	tell_end(a, f, flags);
	f->fd = fd_close(f->fd);
}
