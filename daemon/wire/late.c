#include "daemon/wire/late.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "view/protect.h"

static bool is_lack_valid(const struct late_event *e)
{
	switch (e->reason) {
	case LATE_LACK_LAYER:
	case LATE_LACK_DEVICE:
	case LATE_LACK_LINK:
	case LATE_LACK_CASELESS:
		return e->path_len > 0 && e->path[0] == '/';
	case LATE_LACK_SEARCH:
	case LATE_LACK_SEARCH_LOCKS:
	case LATE_LACK_SEARCH_NOTHING:
	case LATE_LACK_WATCH:
	case LATE_LACK_LINKS:
		return e->path_len == 0 && e->count > 0;
	default:
		return false;
	}
}

uint32_t late_event_class(uint32_t kind, uint32_t group)
{
	enum { COUNTS, HOST, SECRETS, RUNS, LACKING, PLANTED };

	static_assert(PLANTED + PROTECT_GROUP_COUNT <= LATE_CLASSES, "a class for each protection");
	switch (kind) {
	case LATE_PLANTED:
	case LATE_PLANT_REFUSED:
		return PLANTED + group;
	case LATE_RUNS:
		return RUNS;
	case LATE_REFUSED:
	case LATE_MOVED:
		return SECRETS;
	case LATE_UNPROTECTED:
		return HOST;
	case LATE_LACKING:
		return LACKING;
	default:
		return COUNTS;
	}
}

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
	case LATE_LACKING:
		return is_lack_valid(e);
	default:
		return e->path_len > 0 && e->path[0] == '/';
	}
}

void late_lack_text(const struct late_event *e, char ret[LATE_LACK_TEXT_MAX])
{
	static const struct {
		const char *before, *after;
	} texts[LATE_LACK_END] = {
		[LATE_LACK_LAYER] = { "", " is read-only here: no layer over it can be made." },
		[LATE_LACK_DEVICE] = { "", " is missing: it is no character device that the user can reach." },
		[LATE_LACK_SEARCH] = { "Not searched at the start: ",
				       " folders. Secret files there can be read, and protected ones written." },
		[LATE_LACK_SEARCH_LOCKS] = { "Not searched at the start: ",
					     " folders. Secret files there are refused when they are opened, but "
					     "protected ones can be written." },
		[LATE_LACK_SEARCH_NOTHING] = { "Not searched at the start: ",
					       " folders. What the rules protect there is refused when it is opened." },
		[LATE_LACK_LINK] = { "", " has another name (hard link), under which it is not protected. Where the "
					 "session "
					 "has that name, too, remove one of them, or make a copy." },
		[LATE_LACK_LINKS] = { "And ", " other files have another name (hard link)." },
		[LATE_LACK_CASELESS] = { "In ",
					 " names have no case, which the kernel's guard does not know: secret files "
					 "that appear are refused when they are opened, but what is planted is "
					 "told only." },
		[LATE_LACK_WATCH] = { "Not watched: ",
				      " granted folders. What is made there and protected is not told. The user has no "
				      "fanotify group and no inotify instance left." },
	};

	if (e->path_len > 0)
		snprintf(ret, LATE_LACK_TEXT_MAX, "%s%.*s%s", texts[e->reason].before, (int)e->path_len, e->path,
			 texts[e->reason].after);
	else
		snprintf(ret, LATE_LACK_TEXT_MAX, "%s%u%s", texts[e->reason].before, e->count, texts[e->reason].after);
}
