#include "daemon/control/late.h"

#include <errno.h>
#include <string.h>

#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/keep.h"
#include "daemon/control/session.h"
#include "daemon/wire/plan.h"
#include "json/write.h"

void late_done_paths(struct session_late *late)
{
	string_list_done(&late->planted);
	string_list_done(&late->runs);
}

void late_done(struct session_late *late)
{
	late_done_paths(late);
	string_list_done(&late->lacking);
	late->lacking_bytes = 0;
}

const char *late_state_name(uint32_t way)
{
	return way == LATE_WAY_NONE || way == LATE_WAY_UNSET ? "reported" : "refused";
}

const char *late_reason_text(uint32_t way, uint32_t reason)
{
	static const char *const texts[LATE_REASON_END] = {
		[LATE_REASON_NONE] = "Opens of secret files that appear later cannot be refused here.",
		[LATE_REASON_KERNEL] = "The kernel has no fanotify permission events.",
		[LATE_REASON_NESTING] = "With process.nesting a mount namespace made inside escapes the guard.",
		[LATE_REASON_LIMIT] = "The user has as many fanotify groups as fs.fanotify.max_user_groups allows.",
		[LATE_REASON_FAILED] = "The guard of a granted folder could not be set up.",
	};

	/* The kernel refuses, but what it has no form for was left to fanotify. */
	if (way == LATE_WAY_KERNEL && reason == LATE_REASON_NESTING)
		return "The kernel refuses, but rules that look into files or have other wildcards than one * are not "
		       "enforced in a mount namespace made inside (process.nesting).";
	if (way == LATE_WAY_KERNEL && reason != LATE_REASON_NONE)
		return "The kernel refuses, but rules that look into files or have other wildcards than one * are only "
		       "reported: fanotify could not be set up.";
	if (strcmp(late_state_name(way), "refused") == 0)
		return NULL;
	return texts[reason < LATE_REASON_END ? reason : LATE_REASON_NONE];
}

/* pid 1 has the last word: what is only known there (a limit, a file system) it refuses itself. */
int late_check(const struct control *c, const struct plan *plan, struct string_list *notes, struct error *e)
{
	uint32_t way = c->late_way, reason = c->late_reason;
	const char *why;

	if (way == LATE_WAY_FANOTIFY && plan->flags & PLAN_NESTING) {
		way = LATE_WAY_NONE;
		reason = LATE_REASON_NESTING;
	}
	why = late_reason_text(way, reason);
	if (!why)
		return 0;
	if (plan->flags & PLAN_LATE_REQUIRED)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, EOPNOTSUPP, "late files",
				 "Take process.nesting away, or set lateFiles to \"report\".",
				 "The policy requires that secret files which appear later cannot be read. %s", why);
	if (!string_list_printf(notes, "Secret files that appear later are reported, not refused. %s", why))
		return error_set(e, ERROR_INTERNAL, ENOMEM, "late files", NULL, "There is no memory left.");
	return 0;
}

static void keep(struct session_late *late, struct string_list *list, const struct late_event *event)
{
	uint32_t class = UINT32_C(1) << late_event_class(event->kind, event->group);
	bool is_full = list->count >= LATE_PATHS_MAX || late->bytes + event->path_len > LATE_BYTES_MAX;

	if ((is_full && late->classes & class) || !string_list_printf(list, "%.*s", (int)event->path_len, event->path))
		late->more++;
	else {
		late->bytes += event->path_len;
		late->classes |= class;
	}
}

void late_add_lacking(struct session_late *late, const char *text)
{
	size_t len = strlen(text);

	if (late->lacking_bytes + len <= LATE_LACKING_BYTES_MAX && string_list_add(&late->lacking, text))
		late->lacking_bytes += len;
}

void late_on_event(struct session *s, const struct late_event *event)
{
	struct session_late *late = &s->late;
	const size_t bytes = late->bytes + late->lacking_bytes;
	const uint32_t way = late->way;
	char text[LATE_LACK_TEXT_MAX];

	switch (event->kind) {
	case LATE_STATE:
		late->way = event->way;
		late->reason = event->reason;
		break;
	case LATE_PLANTED:
		keep(late, &late->planted, event);
		break;
	case LATE_RUNS:
		keep(late, &late->runs, event);
		break;
	case LATE_MORE:
		late->more += event->count;
		break;
	case LATE_LACKING:
		late_lack_text(event, text);
		late_add_lacking(late, text);
		break;
	default:
		break;
	}
	audit_late(s, event);
	/* It is asked for at the end of the run. */
	if (s->kept && (late->bytes + late->lacking_bytes != bytes || late->way != way))
		keep_send(s);
}

void late_restore_state(struct session_late *late, const char *state, const char *reason)
{
	for (uint32_t i = 0; i < LATE_WAY_END * LATE_REASON_END; i++) {
		uint32_t way = LATE_WAY_END - 1 - i / LATE_REASON_END, why = i % LATE_REASON_END;
		const char *text = late_reason_text(way, why);

		if (way == LATE_WAY_UNSET || strcmp(late_state_name(way), state) != 0 ||
		    strcmp(text ? text : "", reason) != 0)
			continue;
		late->way = way;
		late->reason = why;
		return;
	}
}

void late_write_state(const struct session *s, struct json_writer *w)
{
	const char *why = s->late.way == LATE_WAY_UNSET ? NULL : late_reason_text(s->late.way, s->late.reason);

	json_write_key(w, "late");
	if (s->late.way == LATE_WAY_UNSET)
		json_write_null(w);
	else
		json_write_string(w, late_state_name(s->late.way));
	json_write_key(w, "lateReason");
	if (why)
		json_write_string(w, why);
	else
		json_write_null(w);
	json_write_key(w, "lacking");
	json_write_array(w);
	for (size_t i = 0; i < s->late.lacking.count; i++)
		json_write_bytes(w, s->late.lacking.items[i], strlen(s->late.lacking.items[i]));
	json_write_array_end(w);
}

static void write_paths(const struct string_list *list, bool is_protected, struct json_writer *w)
{
	for (size_t i = 0; i < list->count; i++) {
		json_write_object(w);
		json_write_key(w, "path");
		json_write_bytes(w, list->items[i], strlen(list->items[i]));
		json_write_member_bool(w, "protected", is_protected);
		json_write_object_end(w);
	}
}

void late_write_made(const struct session *s, struct json_writer *w)
{
	json_write_key(w, "made");
	json_write_array(w);
	write_paths(&s->late.planted, true, w);
	write_paths(&s->late.runs, false, w);
	json_write_array_end(w);
	json_write_member_integer(w, "madeMore", (int64_t)(s->late.more & INT64_MAX));
}
