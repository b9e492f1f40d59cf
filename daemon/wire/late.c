#include "daemon/wire/late.h"

#include <string.h>

#include "view/protect.h"

bool late_event_is_valid(const struct late_event *e, size_t n)
{
	if (n < LATE_EVENT_HEAD || e->path_len > sizeof(e->path) || n != late_event_size(e))
		return false;
	if (e->kind < LATE_STATE || e->kind >= LATE_KIND_END || e->group >= PROTECT_GROUP_COUNT || e->pid < -1)
		return false;
	if (!memchr(e->program, 0, sizeof(e->program)) || memchr(e->path, 0, e->path_len))
		return false;
	switch (e->kind) {
	case LATE_STATE:
		return e->path_len == 0 && e->way > LATE_WAY_UNSET && e->way < LATE_WAY_END &&
		       e->reason < LATE_REASON_END;
	case LATE_MORE:
		return e->path_len == 0 && e->count > 0;
	case LATE_LOST:
		return e->path_len == 0;
	default:
		return e->path_len > 0 && e->path[0] == '/';
	}
}
