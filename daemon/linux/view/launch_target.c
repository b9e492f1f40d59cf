#include "daemon/linux/view/launch_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

static int compare(const void *a, const void *b)
{
	const struct launch_target *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	if (r)
		return r;
	/* In the order of the plan, which is that of the mounts over each other. */
	return x->mount < y->mount ? -1 : x->mount > y->mount;
}

int launch_target_index(struct launch *l)
{
	size_t n = 0;
	struct launch_target *targets = calloc(l->plan.n_mounts + l->n_matches + 1, sizeof(*targets));

	if (!targets)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->plan.n_mounts; i++)
		if (l->plan.mounts[i].type != PLAN_MOUNT_MATCHES && l->plan.mounts[i].type != PLAN_MOUNT_DEVICE)
			targets[n++] =
				(struct launch_target){ l->plan.mounts[i].target, &l->plan.mounts[i], &l->trees[i] };
	for (size_t i = 0; i < l->n_matches; i++)
		targets[n++] = (struct launch_target){ l->matches[i].path, &l->plan.mounts[l->matches[i].mount],
						       &l->matches[i].tree };
	qsort(targets, n, sizeof(*targets), compare);
	free(l->targets);
	l->targets = targets;
	l->n_targets = n;
	return 0;
}

/* How path + end compares with a target's path. */
static int against(const char *path, size_t len, char end, const char *target)
{
	int r = strncmp(path, target, len);

	return r ? r : (unsigned char)end - (unsigned char)target[len];
}

/* The first target that is not before path + end; end: NUL, or the slash that begins what is below. */
static size_t lower_bound(const struct launch *l, const char *path, size_t len, char end)
{
	size_t low = 0, high = l->n_targets;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (against(path, len, end, l->targets[middle].path) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct launch_target *at(const struct launch *l, const char *path, size_t len)
{
	struct launch_target *found = NULL;

	for (size_t i = lower_bound(l, path, len, '\0'); i < l->n_targets; i++) {
		if (against(path, len, '\0', l->targets[i].path) != 0)
			break;
		if (!found || launch_target_is_mount(&l->targets[i]))
			found = &l->targets[i];
	}
	return found;
}

struct launch_target *launch_target_at(const struct launch *l, const char *path)
{
	return at(l, path, strlen(path));
}

struct launch_target *launch_target_below(const struct launch *l, const char *path, size_t *ret_n)
{
	size_t len = strlen(path), first, end;

	/* Below "/" is everything. */
	len -= len == 1;
	first = end = lower_bound(l, path, len, '/');
	while (end < l->n_targets && against(path, len, '/', l->targets[end].path) == 0)
		end++;
	*ret_n = end - first;
	return l->targets + first;
}

bool launch_target_is_mount(const struct launch_target *t)
{
	switch (t->mount->type) {
	case PLAN_MAKE_DIR:
	case PLAN_MAKE_LINK:
	case PLAN_MAKE_SOCKET:
	case PLAN_COVER:
	case PLAN_LOCK:
		return false;
	default:
		return true;
	}
}

const struct launch_target *launch_target_around(const struct launch *l, const char *path)
{
	for (size_t len = strlen(path); len > 1;) {
		const struct launch_target *t = at(l, path, len);

		if (t && t->tree->attached && launch_target_is_mount(t))
			return t->mount->flags & PLAN_GRANT ? t : NULL;
		while (len > 1 && path[len - 1] != '/')
			len--;
		len -= len > 1;
	}
	return NULL;
}

bool launch_target_is_granted(const struct launch *l, const char *path)
{
	return launch_target_around(l, path) != NULL;
}
