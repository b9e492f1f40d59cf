#include "daemon/linux/view/launch_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"

/* Room for a handle of the largest kind. */
union handle {
	struct file_handle h;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

void launch_folder_queue_init(struct launch_folder_queue *q)
{
	*q = (struct launch_folder_queue){ .last = &q->first };
}

void launch_folder_put(struct launch_folder_queue *q, struct launch_folder *f)
{
	f->next = f->fd < 0 ? NULL : q->first;
	q->bytes += f->size;
	if (f->fd >= 0 && q->first) {
		q->first = f;
		return;
	}
	*q->last = f;
	q->last = &f->next;
}

struct launch_folder *launch_folder_take(struct launch_folder_queue *q)
{
	struct launch_folder *f = q->first;

	if (!f)
		return NULL;
	q->first = f->next;
	q->bytes -= f->size;
	if (!q->first)
		q->last = &q->first;
	return f;
}

void launch_folder_free(struct launch_folder *f)
{
	if (!f)
		return;
	fd_close(f->fd);
	free(f);
}

/* The size of the handle; 0: it has none. */
static size_t handle_of(const struct launch_moves *moves, int at, const char *name, union handle *ret, int *ret_mount)
{
	int mount_id;

	ret->h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(at, name, &ret->h, &mount_id, 0) < 0)
		return 0;
	*ret_mount = launch_moves_mount(moves, mount_id);
	/* Something is mounted there whose number says nothing yet. */
	return *ret_mount < 0 ? 0 : sizeof(ret->h) + ret->h.handle_bytes;
}

struct launch_folder *launch_folder_new(const struct launch *l, const struct launch_moves *moves, int at,
					const char *path, enum path_access access, bool by_link)
{
	const char *name = strrchr(path, '/') + 1;
	size_t path_size = strlen(path) + 1, handle_size = 0;
	_cleanup_close_ int fd = -1;
	union handle handle;
	struct launch_folder *f;
	int mount = -1;

	if (moves && at >= 0 && !by_link) {
		handle_size = handle_of(moves, at, name, &handle, &mount);
		if (handle_size == 0)
			fd = launch_caller_open(l->context, at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
						RESOLVE_NO_SYMLINKS);
	}
	/* The path first, as it is a plain array; the handle is aligned behind it. */
	path_size = (path_size + _Alignof(struct file_handle) - 1) & ~(_Alignof(struct file_handle) - 1);
	f = malloc(sizeof(*f) + path_size + handle_size);
	if (!f)
		return NULL;
	*f = (struct launch_folder){ .access = access, .by_link = by_link, .mount = mount, .fd = -1 };
	f->size = sizeof(*f) + path_size + handle_size;
	memcpy(f->path, path, strlen(path) + 1);
	if (handle_size > 0) {
		f->handle = (struct file_handle *)(void *)(f->path + path_size);
		memcpy(f->handle, &handle, handle_size);
	}
	if (fd >= 0)
		f->fd = take_fd(&fd);
	return f;
}

int launch_folder_open(const struct launch *l, struct launch_folder *f)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	bool is_stale = false;
	int r;

	if (f->fd >= 0)
		return take_fd(&f->fd);
	if (f->handle) {
		int fd = open_by_handle_at(f->mount, f->handle, flags | O_NOFOLLOW);

		if (fd >= 0)
			return fd;
		is_stale = errno == ESTALE;
		/* Where root may not open it, the caller may, by path; nor is each stale handle that of a folder
		 * that has gone. */
	}
	r = launch_caller_open(l->context, l->root_fd, f->path, (uint64_t)flags,
			       RESOLVE_IN_ROOT | (f->by_link ? 0 : RESOLVE_NO_SYMLINKS));
	return r == -ENOENT && is_stale ? -ESTALE : r;
}
