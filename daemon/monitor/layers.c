#include "daemon/monitor/layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/monitor/tree_remove.h"
#include "daemon/wire/plan.h"

#define RECORD "record"
#define UPPER "upper"
/* Begins with a character that no id has. */
#define HIDDEN ".gone-"
#define NS_PER_S 1000000000LL

static bool is_id(const char *name)
{
	return strspn(name, "0123456789abcdef") == ISOD_ID_LEN && name[ISOD_ID_LEN] == '\0';
}

static int open_layer(const struct place *place, const char *id)
{
	int fd = openat(place->layers, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int read_record(const struct place *place, const char *id, struct layer_record *ret)
{
	_cleanup_close_ int layer = open_layer(place, id), fd = -1;
	ssize_t n;

	if (layer < 0)
		return layer;
	fd = openat(layer, RECORD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = fd_read_full(fd, ret, sizeof(*ret));
	if (n < 0)
		return (int)n;
	if (n != sizeof(*ret) || ret->magic != LAYER_MAGIC || strncmp(ret->id, id, sizeof(ret->id)) != 0 ||
	    !memchr(ret->project, '\0', sizeof(ret->project)))
		return -EBADMSG;
	ret->running = 0;
	return 0;
}

/*
 * Now, by the clock that stamps files: no change from here on has an earlier time, and on kernels with fine stamps none
 * from before has a later one. The second stat sees a fine one because the first has asked for the coarse one.
 */
static int stamp(int fd, int64_t *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || fchmod(fd, 0600) < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_ctim.tv_sec * NS_PER_S + st.st_ctim.tv_nsec;
	return 0;
}

static int write_record(int layer, struct layer_record *record)
{
	_cleanup_close_ int fd = openat(layer, RECORD, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : stamp(fd, &record->started_ns);

	return r < 0 ? r : fd_write_full(fd, record, sizeof(*record));
}

static DIR *open_all(const struct place *place)
{
	int fd = openat(place->layers, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		fd_close(fd);
	return d;
}

int layers_list(const struct place *place, uid_t uid, struct layer_record **ret, size_t *ret_count)
{
	_cleanup_closedir_ DIR *d = open_all(place);
	_cleanup_free_ struct layer_record *list = NULL;
	const struct dirent *entry;
	size_t n = 0, room = 0;

	if (!d)
		return -errno;
	while ((entry = readdir(d))) {
		struct layer_record *grown;

		if (!is_id(entry->d_name))
			continue;
		if (n == room) {
			room = room ? 2 * room : 16;
			grown = reallocarray(list, room, sizeof(*list));
			if (!grown)
				return -ENOMEM;
			list = grown;
		}
		if (read_record(place, entry->d_name, &list[n]) == 0 && (uid == 0 || list[n].uid == uid))
			n++;
	}
	*ret = take_ptr(list);
	*ret_count = n;
	return 0;
}

const char *layers_kept(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].flags & PLAN_KEEP)
			return plan->mounts[i].source;
	return NULL;
}

static int check_quota(const struct place *place, uid_t uid, struct error *e)
{
	_cleanup_free_ struct layer_record *list = NULL;
	size_t all = 0, own = 0;
	/* Root's list is everybody's. */
	int r = layers_list(place, uid, &list, &all);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "layer", "", "The kept layers cannot be listed: %s.",
				 strerror(-r));
	for (size_t i = 0; i < all; i++)
		own += list[i].uid == uid;
	if (own >= LIMIT_LAYERS_PER_UID)
		return error_set(e, ERROR_LIMIT, EDQUOT, "layer",
				 "`isoctl diff --list` lists them; `isoctl discard SESSION` removes one.",
				 "You have %u layers of earlier sessions, as many as are kept.", LIMIT_LAYERS_PER_UID);
	return 0;
}

static int make(const struct place *place, const char *id, uid_t uid, const char *project)
{
	_cleanup_close_ int layer = -1;
	_cleanup_free_ struct layer_record *record = calloc(1, sizeof(*record));
	int r;

	if (!record || strlen(project) >= sizeof(record->project))
		return record ? -ENAMETOOLONG : -ENOMEM;
	record->magic = LAYER_MAGIC;
	record->uid = uid;
	memcpy(record->id, id, ISOD_ID_LEN);
	memcpy(record->project, project, strlen(project));
	if (mkdirat(place->layers, id, 0700) < 0)
		return -errno;
	layer = open_layer(place, id);
	r = layer < 0 ? layer : write_record(layer, record);
	if (r < 0) {
		(void)tree_remove(place->layers, id);
		return r;
	}
	return take_fd(&layer);
}

int layers_make(const struct place *place, const char *id, uid_t uid, const char *project, struct error *e)
{
	int r = check_quota(place, uid, e);

	if (r < 0)
		return r;
	r = make(place, id, uid, project);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "layer", "Look for room in the state folder of isod.",
				 "The session's layer cannot be made: %s.", strerror(-r));
	return r;
}

int layers_find(const struct place *place, const char *id, uid_t uid, struct layer_record *ret)
{
	int r = is_id(id) ? read_record(place, id, ret) : -ENOENT;

	return r == 0 && (uid == 0 || ret->uid == uid) ? 0 : -ENOENT;
}

/* A mount of its own: what the user holds can be neither written to, nor is anything of the user's renamed into it,
 * that would be removed with the layer then, by root. */
int layers_open_upper(const struct place *place, const char *id)
{
	const uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	_cleanup_close_ int layer = open_layer(place, id), tree = -1;
	int fd, r;

	if (layer < 0)
		return layer;
	tree = launch_sys_open_tree(layer, UPPER, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	r = tree < 0 ? tree : launch_sys_mount_set(tree, 0, attributes, MS_PRIVATE);
	if (r < 0)
		return r;
	fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int layers_hide(const struct place *place, const char *id)
{
	char hidden[sizeof(HIDDEN) + ISOD_ID_LEN];

	if (!is_id(id))
		return -ENOENT;
	snprintf(hidden, sizeof(hidden), HIDDEN "%s", id);
	return renameat2(place->layers, id, place->layers, hidden, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* isod was killed before isod-launch came to it. */
static bool is_unused(const struct place *place, const char *id)
{
	_cleanup_close_ int layer = open_layer(place, id);
	struct stat st;

	return layer >= 0 && fstatat(layer, UPPER, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static bool is_too_old(const struct place *place, const char *id)
{
	struct layer_record record = { .magic = 0 };
	struct timespec now;
	int r = read_record(place, id, &record);

	/* Without a record nobody could ever ask for it. One that cannot be read may be of a later version, and what it
	 * is about somebody's work. */
	if (r < 0)
		return r == -ENOENT || is_unused(place, id);
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now.tv_sec - record.started_ns / NS_PER_S > LIMIT_LAYER_DAYS * 86400LL;
}

int layers_sweep(const struct place *place, bool old)
{
	_cleanup_closedir_ DIR *d = open_all(place);
	const struct dirent *entry;
	int result = 0;

	if (!d)
		return -errno;
	while ((entry = readdir(d))) {
		bool hidden = strncmp(entry->d_name, HIDDEN, sizeof(HIDDEN) - 1) == 0;
		int r = 0;

		if (hidden || (old && is_id(entry->d_name) && is_too_old(place, entry->d_name)))
			r = tree_remove(place->layers, entry->d_name);
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}
