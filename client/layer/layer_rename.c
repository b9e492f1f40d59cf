/* Renames are told by content: overlayfs notes only that one name went and another came. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"
#include "client/layer/layer_path.h"

#define CHUNK (128U << 10)
/* Files that are read to find renames, pairs of equal size only: a layer of a thousand files of one size, all gone and
 * all new, would else be a million. */
#define COMPARISONS_MAX 20000
#define RENAME_SIZE_MAX (64LL << 20)

static ssize_t read_some(int fd, char *data, off_t at)
{
	size_t n = 0;

	while (n < CHUNK) {
		ssize_t r = pread(fd, data + n, CHUNK - n, at + (off_t)n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

int layer_content_equal(int a, int b)
{
	_cleanup_free_ char *data = malloc(2 * CHUNK);
	struct stat sa, sb;

	if (!data)
		return -ENOMEM;
	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0)
		return -errno;
	if (!S_ISREG(sa.st_mode) || !S_ISREG(sb.st_mode) || sa.st_size != sb.st_size)
		return 0;
	for (off_t at = 0;; at += CHUNK) {
		ssize_t n = read_some(a, data, at), m = read_some(b, data + CHUNK, at);

		if (n < 0 || m < 0)
			return (int)(n < 0 ? n : m);
		if (n != m || memcmp(data, data + CHUNK, (size_t)n) != 0)
			return 0;
		if (n < (ssize_t)CHUNK)
			return 1;
	}
}

static bool is_source(const struct change *c)
{
	return c->kind == CHANGE_DELETED && S_ISREG(c->host.mode) && c->host.size > 0 &&
	       c->host.size <= RENAME_SIZE_MAX && !(c->flags & (CHANGE_CONFLICT | CHANGE_MOVED_AWAY));
}

static bool is_target(const struct change *c)
{
	return c->kind == CHANGE_NEW && S_ISREG(c->mode) && !c->other && c->size > 0;
}

struct target {
	struct change *change;
};

static int by_size(const void *a, const void *b)
{
	const struct change *x = ((const struct target *)a)->change, *y = ((const struct target *)b)->change;

	return x->size != y->size ? (x->size > y->size) - (x->size < y->size) : strcmp(x->path, y->path);
}

/* The first of at least this size. */
static size_t lower_bound(const struct target *sorted, size_t n, int64_t size)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle].change->size < size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The new file that this one became: of those alike the one of the same name, else the first. NULL. */
static struct change *find_target(const struct layer *l, const struct change *source, const struct target *targets,
				  size_t n, unsigned *left)
{
	_cleanup_close_ int host = layer_path_open(l->project_fd, source->path, O_RDONLY);
	struct change *found = NULL;

	for (size_t i = lower_bound(targets, n, source->host.size);
	     host >= 0 && i < n && targets[i].change->size == source->host.size && *left > 0; i++) {
		_cleanup_close_ int upper = -1;
		bool named = strcmp(last_name(targets[i].change->path), last_name(source->path)) == 0;

		if (!is_target(targets[i].change) || (found && !named))
			continue;
		(*left)--;
		upper = layer_path_open(l->upper, targets[i].change->path, O_RDONLY);
		if (upper < 0 || layer_content_equal(host, upper) != 1)
			continue;
		found = targets[i].change;
		if (named)
			break;
	}
	return found;
}

/*
 * A file that was taken from the host and is not there any more: the user removed it while the session ran. Unless a
 * file of another name went, which it may have been before its content was changed.
 */
static void mark_removed(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].kind == CHANGE_DELETED && !(c->items[i].flags & CHANGE_MOVED_AWAY))
			return;
	for (size_t i = 0; i < c->count; i++) {
		struct change *x = &c->items[i];

		if (x->kind == CHANGE_NEW && !x->other && x->flags & CHANGE_COPIED_UP && x->flags & CHANGE_HOST_MOVED)
			x->flags |= CHANGE_CONFLICT;
	}
}

int layer_rename_find(const struct layer *l, struct changes *c)
{
	_cleanup_free_ struct target *targets = calloc(c->count + 1, sizeof(*targets));
	unsigned left = COMPARISONS_MAX;
	size_t n = 0;

	if (!targets)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++)
		if (is_target(&c->items[i]))
			targets[n++].change = &c->items[i];
	qsort(targets, n, sizeof(*targets), by_size);
	for (size_t i = 0; i < c->count && n > 0 && left > 0; i++) {
		struct change *target;

		if (!is_source(&c->items[i]))
			continue;
		target = find_target(l, &c->items[i], targets, n, &left);
		if (!target)
			continue;
		target->other = c->items[i].path;
		c->items[i].other = target->path;
		c->items[i].flags |= CHANGE_MOVED_AWAY;
	}
	mark_removed(c);
	return 0;
}
