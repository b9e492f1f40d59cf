#include "daemon/monitor/etc_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/monitor/etc_layer.h"
#include "daemon/monitor/tree_remove.h"

#define TRIES 3

struct etc_layer *etc_layer_put(struct etc_layer *layer)
{
	if (!layer || --layer->refs > 0)
		return NULL;
	fd_close(layer->fd);
	/* What stays behind is removed at the next start. */
	(void)tree_remove(layer->all->folder, layer->name);
	free(layer);
	return NULL;
}

static int build(struct etc_layers *l)
{
	_cleanup_free_ struct etc_layer *layer = calloc(1, sizeof(*layer));
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (!layer)
		return -ENOMEM;
	layer->all = l;
	layer->refs = 1;
	snprintf(layer->name, sizeof(layer->name), "%u", l->serial++);
	layer->fd = etc_layer_build(l->folder, layer->name, l->etc, &watch);
	if (layer->fd < 0) {
		(void)tree_remove(l->folder, layer->name);
		return layer->fd;
	}
	etc_layer_put(l->now);
	l->now = take_ptr(layer);
	fd_close(l->watch);
	l->watch = take_fd(&watch);
	return 0;
}

int etc_layers_open(struct etc_layers *l, int parent)
{
	int r = tree_remove(parent, "etc");

	if (r < 0)
		return r;
	if (mkdirat(parent, "etc", 0755) < 0 || fchmodat(parent, "etc", 0755, 0) < 0)
		return -errno;
	l->folder = openat(parent, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	l->etc = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return l->folder < 0 || l->etc < 0 ? -errno : build(l);
}

void etc_layers_close(struct etc_layers *l)
{
	l->now = etc_layer_put(l->now);
	l->folder = fd_close(l->folder);
	l->etc = fd_close(l->etc);
	l->watch = fd_close(l->watch);
}

/* One event is enough: the descriptor goes with the layer that is out of date. Without one nobody knows. */
static bool has_changed(int watch)
{
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];

	return read(watch, event, sizeof(event)) >= 0 || errno != EAGAIN;
}

int etc_layers_take(struct etc_layers *l, struct etc_layer **ret)
{
	int r = 0;

	/* While a package is being unpacked, what was listed may have gone when it is looked at. */
	for (int i = 0; i < TRIES && (i == 0 ? has_changed(l->watch) : r == -ENOENT); i++)
		r = build(l);
	if (r < 0)
		return r;
	l->now->refs++;
	*ret = l->now;
	return 0;
}
