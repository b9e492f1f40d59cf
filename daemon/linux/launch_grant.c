#include "daemon/linux/launch_grant.h"

#include <string.h>

#include "base/cleanup.h"
#include "daemon/linux/launch_caller.h"
#include "daemon/linux/launch_mountinfo.h"
#include "daemon/linux/launch_place.h"
#include "daemon/linux/launch_sys.h"
#include "daemon/linux/launch_target.h"

static bool is_own(const struct launch *l, uint64_t id)
{
	for (size_t i = 0; i < l->n_own; i++)
		if (l->own[i].mount_id == id)
			return true;
	return false;
}

/* Another mount may lie over it. */
static bool is_seen(const struct launch *l, const struct launch_mountinfo *m)
{
	_cleanup_close_ int fd =
		launch_caller_open(l->context, AT_FDCWD, m->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	uint64_t id;

	return fd >= 0 && launch_place_mount_id(fd, &id) == 0 && id == m->id;
}

static int collect(struct launch *l, const struct launch_mountinfo *m, struct error *e)
{
	struct launch_grant *grants = l->grants;

	if (m->device == l->covers_device || is_own(l, m->id) || !launch_target_is_granted(l, m->path) ||
	    !is_seen(l, m))
		return 0;
	/* Room for a power of two. */
	if ((l->n_grants & (l->n_grants - 1)) == 0) {
		grants = reallocarray(l->grants, l->n_grants ? 2 * l->n_grants : 1, sizeof(*grants));
		if (!grants)
			return -ENOMEM;
		l->grants = grants;
	}
	grants[l->n_grants] = (struct launch_grant){ strdup(m->path), m->id, m->read_only };
	return grants[l->n_grants++].path ? 0 : -ENOMEM;
}

int launch_grant_collect(struct launch *l, struct error *e)
{
	return launch_mountinfo_each(l, collect, e);
}
