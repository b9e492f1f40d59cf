#include "daemon/control/audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"

static void file_name(const char *id, char ret[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)])
{
	snprintf(ret, ISOD_ID_LEN + sizeof(AUDIT_SUFFIX), "%.*s" AUDIT_SUFFIX, ISOD_ID_LEN, id);
}

int audit_open(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret)
{
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];
	int fd;

	file_name(id, name);
	fd = openat(a->dir_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	*ret = (struct audit_file){ .fd = fd, .uid = uid };
	memcpy(ret->id, id, ISOD_ID_LEN);
	audit_keep_begin(&a->keep, uid);
	return 0;
}

int audit_open_again(struct audit *a, uint32_t uid, const char *id, struct audit_file *ret)
{
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];
	struct stat st;
	int fd;

	file_name(id, name);
	fd = openat(a->dir_fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;

		fd_close(fd);
		return r;
	}
	*ret = (struct audit_file){ .fd = fd, .uid = uid, .size = st.st_size };
	memcpy(ret->id, id, ISOD_ID_LEN);
	audit_keep_again(&a->keep, uid, id);
	return 0;
}

int audit_open_for_reading(int dir_fd, const char *id)
{
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];
	int fd;

	file_name(id, name);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int audit_remove(int dir_fd, const char *id)
{
	char name[ISOD_ID_LEN + sizeof(AUDIT_SUFFIX)];

	file_name(id, name);
	return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

static int write_line(struct audit_file *f, const struct buffer *line)
{
	ssize_t n;

	do
		n = write(f->fd, line->data, line->len);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line->len) {
		f->size += n;
		return 0;
	}
	if (n < 0)
		return -errno;
	/* Half a line would make the next one unreadable too. */
	return ftruncate(f->fd, f->size) < 0 ? -errno : -ENOSPC;
}

int audit_append(struct audit *a, struct audit_file *f, struct buffer *line)
{
	int r;

	if (f->fd < 0)
		return -EBADF;
	r = buffer_append(line, "\n", 1);
	if (r == 0)
		r = write_line(f, line);
	if (r < 0) {
		f->lost++;
		a->lost++;
		if (!a->failing)
			log_error("the audit log cannot be written: %s; events are lost until it can", strerror(-r));
		a->failing = -r;
		return r;
	}
	if (a->failing)
		log_info("the audit log can be written again");
	a->failing = 0;
	return 0;
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

void audit_close(struct audit *a, struct audit_file *f)
{
	struct sync *sync = f->fd < 0 ? NULL : calloc(1, sizeof(*sync));
	int fd = take_fd(&f->fd);

	if (fd >= 0)
		audit_keep_end(&a->keep, f->uid, f->id, f->size);
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

void audit_close_refused(struct audit *a, struct audit_file *f)
{
	if (f->fd < 0)
		return;
	audit_keep_end(&a->keep, f->uid, f->id, f->size);
	f->fd = fd_close(f->fd);
}
