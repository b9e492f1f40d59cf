#include "daemon/linux/view/launch_moves.h"

#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/watch/launch_watch_event.h"

#define BUFFER_SIZE 16384

/* Room for a handle of the largest kind. */
union handle {
	struct file_handle h;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

struct mount {
	uint64_t id;
	fsid_t fsid;
	int fd; /* of a folder in it, opened for reading */
};

/* Hashes: of folders wherever they are shown, of folders in a mount, of these under a path. Open addressing; 0 = free.
 */
struct seen {
	uint64_t *keys;
	bool *stale; /* something was moved into that one, and has not been looked at */
	size_t n;
	size_t room; /* a power of two, or 0 */
};

struct launch_moves {
	int group;
	bool blind;
	bool missed; /* something could not be looked up */
	struct mount *mounts;
	size_t n_mounts;
	size_t last; /* found last: mostly the next one, too */
	struct seen seen;
	/* events that are told just now: how many of the queue are still to be read, and what was read of it */
	unsigned waiting;
	bool in_round;
	struct launch_watch_events events;
	struct fanotify_event_metadata head; /* of .event */
	char *event;                         /* in .buffer, NULL: none */
	size_t mount;                        /* the next in which it is looked for */
	_Alignas(struct fanotify_event_metadata) char buffer[BUFFER_SIZE];
};

struct launch_moves *launch_moves_new(void)
{
	struct launch_moves *m = malloc(sizeof(*m));

	if (!m)
		return NULL;
	*m = (struct launch_moves){ 0 };
	m->group = fanotify_init(
		FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_REPORT_DFID_NAME, 0);
	if (m->group >= 0)
		return m;
	free(m);
	return NULL;
}

void launch_moves_free(struct launch_moves *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_mounts; i++)
		fd_close(m->mounts[i].fd);
	fd_close(m->group);
	free(m->mounts);
	free(m->seen.keys);
	free(m->seen.stale);
	free(m);
}

static uint64_t mix(uint64_t x)
{
	/* The finalizer of MurmurHash3. */
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* Its place, or the free one where it belongs. */
static size_t place_of(const struct seen *s, uint64_t key)
{
	size_t i = mix(key) & (s->room - 1);

	while (s->keys[i] != 0 && s->keys[i] != key)
		i = (i + 1) & (s->room - 1);
	return i;
}

static int grow(struct seen *s)
{
	struct seen larger = { .n = s->n, .room = s->room ? 2 * s->room : 256 };

	larger.keys = calloc(larger.room, sizeof(*larger.keys));
	larger.stale = calloc(larger.room, sizeof(*larger.stale));
	if (!larger.keys || !larger.stale) {
		free(larger.keys);
		free(larger.stale);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->room; i++)
		if (s->keys[i] != 0) {
			size_t to = place_of(&larger, s->keys[i]);

			larger.keys[to] = s->keys[i];
			larger.stale[to] = s->stale[i];
		}
	free(s->keys);
	free(s->stale);
	*s = larger;
	return 0;
}

/* FNV-1a. */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
	for (const uint8_t *at = data; len > 0; len--)
		h = (h ^ *at++) * 0x100000001b3ULL;
	return h;
}

static uint64_t key(uint64_t h)
{
	return h ? h : 1;
}

/* By its handle, which a new folder with the same inode number does not have. Equal for both, name_to_handle_at(2) and
 * events. */
static uint64_t key_of_handle(const struct file_handle *handle)
{
	uint64_t h = hash(0xcbf29ce484222325ULL, &handle->handle_type, sizeof(handle->handle_type));

	return key(hash(h, handle->f_handle, handle->handle_bytes));
}

/* Of a folder in a mount, since what two mounts show is covered in each. */
static uint64_t key_in(uint64_t folder, uint64_t mount)
{
	return key(hash(folder, &mount, sizeof(mount)));
}

/* Where there are no handles, by the inode number. */
static uint64_t key_of(int folder, const struct statx *st)
{
	union handle handle = { .h.handle_bytes = MAX_HANDLE_SZ };
	uint64_t h;
	int mount_id;

	if (name_to_handle_at(folder, "", &handle.h, &mount_id, AT_EMPTY_PATH) == 0)
		return key_of_handle(&handle.h);
	h = hash(0xcbf29ce484222325ULL, &st->stx_dev_major, sizeof(st->stx_dev_major));
	h = hash(h, &st->stx_dev_minor, sizeof(st->stx_dev_minor));
	return key(hash(h, &st->stx_ino, sizeof(st->stx_ino)));
}

static bool is_seen(const struct seen *s, uint64_t key)
{
	return s->room > 0 && s->keys[place_of(s, key)] == key;
}

/* 1 = it was there, and all in it was looked at. */
static int note(struct seen *s, uint64_t key)
{
	size_t i;

	if (2 * s->n >= s->room && grow(s) < 0)
		return -ENOMEM;
	i = place_of(s, key);
	if (s->keys[i] == key && !s->stale[i])
		return 1;
	s->n += s->keys[i] == 0;
	s->keys[i] = key;
	s->stale[i] = false;
	return 0;
}

/* Rules about the folders above may hold under one path and not under another: it is judged under each. */
static int note_all(struct seen *s, uint64_t folder, uint64_t mount, const char *path)
{
	uint64_t in_mount = key_in(folder, mount);
	int anywhere = note(s, folder), there = note(s, in_mount),
	    so = note(s, key(hash(in_mount, path, strlen(path))));

	if (anywhere < 0 || there < 0 || so < 0)
		return -ENOMEM;
	return there && so;
}

static ssize_t mount_of(const struct launch_moves *m, uint64_t id)
{
	if (m->last < m->n_mounts && m->mounts[m->last].id == id)
		return (ssize_t)m->last;
	for (size_t i = 0; i < m->n_mounts; i++)
		if (m->mounts[i].id == id)
			return (ssize_t)i;
	return -1;
}

/* Some file systems number folders for events and cannot find one by its number. */
static bool finds_by_handle(int folder)
{
	union handle handle = { .h.handle_bytes = MAX_HANDLE_SZ };
	_cleanup_close_ int fd = -1;
	int mount_id;

	if (name_to_handle_at(folder, "", &handle.h, &mount_id, AT_EMPTY_PATH) < 0)
		return false;
	fd = open_by_handle_at(folder, &handle.h, O_PATH | O_CLOEXEC);
	return fd >= 0;
}

static bool is_watched(const struct launch_moves *m, const fsid_t *fsid)
{
	for (size_t i = 0; i < m->n_mounts; i++)
		if (memcmp(&m->mounts[i].fsid, fsid, sizeof(*fsid)) == 0)
			return true;
	return false;
}

static int add_mount(struct launch_moves *m, int folder, uint64_t id)
{
	struct mount *more;
	struct statfs fs;
	int fd;

	if (fstatfs(folder, &fs) < 0)
		return -errno;
	if (!is_watched(m, &fs.f_fsid) &&
	    (!finds_by_handle(folder) ||
	     fanotify_mark(m->group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_MOVED_TO | FAN_ONDIR, folder, NULL) < 0))
		m->blind = true;
	if (m->n_mounts == LAUNCH_MOVES_MOUNTS) {
		m->blind = true;
		return 0;
	}
	more = reallocarray(m->mounts, m->n_mounts + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->mounts = more;
	fd = fcntl(folder, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	m->mounts[m->n_mounts++] = (struct mount){ .id = id, .fsid = fs.f_fsid, .fd = fd };
	return 0;
}

int launch_moves_enter(struct launch_moves *m, int folder, const char *path)
{
	struct statx st;
	ssize_t i;
	int r = 0;

	if (statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	i = mount_of(m, st.stx_mnt_id);
	if (i >= 0)
		m->last = (size_t)i;
	else
		r = add_mount(m, folder, st.stx_mnt_id);
	return r < 0 ? r : note_all(&m->seen, key_of(folder, &st), st.stx_mnt_id, path);
}

bool launch_moves_has_missed(const struct launch_moves *m)
{
	return m->missed;
}

bool launch_moves_is_blind(const struct launch_moves *m)
{
	return m->blind;
}

unsigned launch_moves_waiting(const struct launch_moves *m)
{
	return launch_watch_event_waiting(m->group);
}

int launch_moves_mount(const struct launch_moves *m, int mount_id)
{
	ssize_t i = mount_of(m, (uint64_t)mount_id);

	return i < 0 ? -1 : m->mounts[i].fd;
}

static int path_of(const struct launch *l, int fd, char *path, size_t size)
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof(name), "self/fd/%d", fd);
	n = readlinkat(l->proc_fd, name, path, size);
	if (n < 0 || (size_t)n == size)
		return n < 0 ? -errno : -ENAMETOOLONG;
	path[n] = '\0';
	return 0;
}

/* Of what lies outside of its mount the kernel shows a path, too: one that leads elsewhere. */
static bool leads_to(const struct launch *l, const char *path, const struct statx *st)
{
	_cleanup_close_ int fd = launch_caller_open(l->context, l->root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC,
						    RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	struct statx now;

	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &now) == 0 &&
	       now.stx_ino == st->stx_ino && now.stx_mnt_id == st->stx_mnt_id;
}

/* What follows the head of an event with FAN_REPORT_DFID_NAME. NULL: something else. Records are aligned to 4 bytes. */
static struct file_handle *folder_of(char *event, const struct fanotify_event_metadata *head, fsid_t *ret_fsid,
				     const char **ret_name)
{
	struct fanotify_event_info_fid *info = (void *)(event + head->metadata_len);
	struct file_handle *handle = (void *)info->handle;

	if (head->event_len < head->metadata_len + sizeof(*info) + sizeof(*handle) ||
	    info->hdr.info_type != FAN_EVENT_INFO_TYPE_DFID_NAME)
		return NULL;
	memcpy(ret_fsid, &info->fsid, sizeof(*ret_fsid));
	*ret_name = (const char *)handle->f_handle + handle->handle_bytes;
	return handle;
}

/* For its name alone: it need not be one that root may read (NFS). */
static bool find_in(struct launch_moves *m, const struct launch *l, const struct mount *mount,
		    struct file_handle *handle, const char *name, struct launch_moved *ret)
{
	_cleanup_close_ int fd = -1;
	uint64_t here = key_in(key_of_handle(handle), mount->id);
	struct statx st;

	/* It will be read when it is met. */
	if (!is_seen(&m->seen, here))
		return false;
	if (strlen(name) >= sizeof(ret->name)) {
		m->missed = true;
		return false;
	}
	fd = open_by_handle_at(mount->fd, handle, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0) {
		/* What was removed is no more. */
		m->missed |= errno != ESTALE;
		return false;
	}
	if (path_of(l, fd, ret->folder, sizeof(ret->folder)) < 0 || !leads_to(l, ret->folder, &st)) {
		/* Outside, or moved itself just now: it is read once more when that is told, or when it comes back. */
		m->seen.stale[place_of(&m->seen, here)] = true;
		return false;
	}
	memcpy(ret->name, name, strlen(name) + 1);
	ret->fd = take_fd(&fd);
	return true;
}

/* Looks for the event's folder in the mounts from m->mount on: two grants may show it. Others move things on the same
 * file system, too, and must not hold up a start: what is in no grant is known by one look into a table. */
static bool find_next(struct launch_moves *m, const struct launch *l, struct launch_moved *ret)
{
	const char *name;
	fsid_t fsid;
	struct file_handle *handle = m->event ? folder_of(m->event, &m->head, &fsid, &name) : NULL;

	if (handle && is_seen(&m->seen, key_of_handle(handle)))
		while (m->mount < m->n_mounts) {
			const struct mount *mount = &m->mounts[m->mount++];

			if (memcmp(&mount->fsid, &fsid, sizeof(fsid)) == 0 && find_in(m, l, mount, handle, name, ret))
				return true;
		}
	m->mount = 0;
	return false;
}

static unsigned count(struct launch_watch_events events)
{
	struct fanotify_event_metadata head;
	const char *event;
	unsigned n = 0;

	while (launch_watch_event_next(&events, &head, &event))
		n++;
	return n;
}

/* false: there is no more of what waited when the round began. */
static bool read_more(struct launch_moves *m)
{
	ssize_t n;
	unsigned events;

	if (!m->in_round)
		m->waiting = launch_watch_event_waiting(m->group);
	m->in_round = m->waiting > 0;
	if (!m->in_round)
		return false;
	n = read(m->group, m->buffer, sizeof(m->buffer));
	m->events = (struct launch_watch_events){ .at = m->buffer, .left = n < 0 ? 0 : (size_t)n };
	events = count(m->events);
	m->waiting -= events < m->waiting ? events : m->waiting;
	m->in_round = events > 0;
	return m->in_round;
}

int launch_moves_next(struct launch_moves *m, const struct launch *l, struct launch_moved *ret)
{
	for (;;) {
		const char *event;

		if (find_next(m, l, ret))
			return 1;
		m->event = NULL;
		if (m->events.left == 0 && !read_more(m))
			return 0;
		if (launch_watch_event_next(&m->events, &m->head, &event))
			m->event = m->buffer + (event - m->buffer);
		else
			m->events.left = 0;
	}
}
