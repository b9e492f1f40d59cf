#include "daemon/linux/view/launch_lack.h"

#include <string.h>

#include "daemon/linux/watch/launch_late_report.h"

static int tell(const struct launch *l, uint32_t lack, size_t count, const char *path)
{
	struct late_event e = { .kind = LATE_LACKING, .reason = lack, .pid = -1 };
	size_t len = strnlen(path, sizeof(e.path));

	e.count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
	e.path_len = (uint32_t)len;
	memcpy(e.path, path, len);
	return launch_late_report_event(l->link_fd, &e);
}

static int tell_search(const struct launch *l)
{
	size_t n = l->n_not_searched + l->n_not_kept;
	uint32_t lack = LATE_LACK_SEARCH_NOTHING;

	if (!l->late_guard)
		lack = LATE_LACK_SEARCH;
	else if (l->n_not_kept > 0 && !l->search_guard)
		lack = LATE_LACK_SEARCH_LOCKS;
	return n == 0 ? 0 : tell(l, lack, n, "");
}

int launch_lack_tell_links(const struct launch *l, size_t n, const char *path)
{
	return tell(l, *path ? LATE_LACK_LINK : LATE_LACK_LINKS, n, path);
}

int launch_lack_tell_watch(const struct launch *l, size_t n)
{
	return n == 0 ? 0 : tell(l, LATE_LACK_WATCH, n, "");
}

int launch_lack_tell(const struct launch *l)
{
	int r = 0;

	for (uint32_t i = 0; i < l->plan.n_mounts && r == 0; i++) {
		const struct plan_mount *m = &l->plan.mounts[i];

		if (m->type == PLAN_MOUNT_OVERLAY && l->trees[i].read_only)
			r = tell(l, LATE_LACK_LAYER, 1, m->target);
		else if (m->type == PLAN_MOUNT_DEVICE && l->trees[i].absent)
			r = tell(l, LATE_LACK_DEVICE, 1, m->source);
	}
	if (r == 0 && l->caseless && l->context->flags & LAUNCH_HAS_LATE)
		r = tell(l, LATE_LACK_CASELESS, 1, l->caseless);
	return r < 0 ? r : tell_search(l);
}
