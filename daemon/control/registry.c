#include "daemon/control/registry.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/control/control.h"
#include "daemon/control/audit/history.h"
#include "daemon/control/session.h"

void registry_init(struct registry *r, struct control *control)
{
	*r = (struct registry){ .control = control };
	LIST_INIT(&r->live);
	LIST_INIT(&r->ended);
}

static void release_all(struct session_list *list)
{
	struct session *s;

	while ((s = LIST_FIRST(list))) {
		LIST_REMOVE(s, entry);
		session_release(s);
	}
}

void registry_done(struct registry *r)
{
	struct session *s;

	LIST_FOREACH (s, &r->live, entry) {
		session_abandon(s);
	}
	release_all(&r->live);
	release_all(&r->ended);
}

bool registry_id_is_valid(const char *text)
{
	return strlen(text) == ISOD_ID_LEN && strspn(text, "0123456789abcdef") == ISOD_ID_LEN;
}

bool registry_name_is_valid(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(text);

	return len > 0 && len <= SESSION_LABEL_MAX && strspn(text, allowed) == len && text[0] != '.' &&
	       text[0] != '-' && !registry_id_is_valid(text);
}

bool registry_may_see(uint32_t uid, const struct session *s)
{
	return uid == 0 || s->uid == uid;
}

unsigned registry_count_live(const struct registry *r, uint32_t uid)
{
	const struct session *s;
	unsigned n = 0;

	LIST_FOREACH (s, &r->live, entry)
		if (registry_may_see(uid, s))
			n++;
	return n;
}

int registry_admit(struct registry *r, uint32_t uid, const char *name, struct error *e)
{
	const struct session *s;
	unsigned all = 0, own = 0;

	if (name && !registry_name_is_valid(name))
		return error_set(e, ERROR_INVALID, EINVAL, "name",
				 "Take letters, digits, dots, dashes and underscores, and not the form of an id.",
				 "This cannot be the name of a session.");
	LIST_FOREACH (s, &r->live, entry) {
		all++;
		if (s->uid != uid)
			continue;
		own++;
		if (name && s->state != SESSION_ENDED && strcmp(s->name, name) == 0)
			return error_set(e, ERROR_INVALID, EEXIST, "name", "Take another name.",
					 "A session named %s runs already.", name);
	}
	if (own >= LIMIT_SESSIONS_PER_UID)
		return error_set(e, ERROR_LIMIT, EAGAIN, "sessions", "End some: see `isoctl sessions`.",
				 "You have %u sessions; more than %d are not permitted.", own, LIMIT_SESSIONS_PER_UID);
	if (all >= LIMIT_SESSIONS)
		return error_set(e, ERROR_LIMIT, EAGAIN, "sessions", "Try again later.",
				 "There are %u sessions on this machine; more than %d are not permitted.", all,
				 LIMIT_SESSIONS);
	return 0;
}

void registry_add(struct registry *r, struct session *s)
{
	LIST_INSERT_HEAD(&r->live, s, entry);
}

void registry_retire(struct registry *r, struct session *s)
{
	LIST_REMOVE(s, entry);
	LIST_INSERT_HEAD(&r->ended, s, entry);
	s->history = true;
}

void registry_remove(struct registry *r, struct session *s)
{
	LIST_REMOVE(s, entry);
}

void registry_trim(struct registry *r, uint32_t uid)
{
	struct session *s = LIST_FIRST(&r->ended), *next;
	unsigned n = 0;

	for (; s; s = next) {
		next = LIST_NEXT(s, entry);
		/* One that somebody reads stays until the next round. */
		if (s->uid != uid || ++n <= REGISTRY_ENDED_PER_UID || !LIST_EMPTY(&s->readers))
			continue;
		LIST_REMOVE(s, entry);
		session_release(s);
	}
}

struct session *registry_find_id(struct registry *r, const char *id)
{
	struct session *s;

	LIST_FOREACH (s, &r->live, entry)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

static struct session *find_in(struct session_list *list, uint32_t uid, const char *text)
{
	struct session *s;

	LIST_FOREACH (s, list, entry)
		if (registry_may_see(uid, s) && (strcmp(s->id, text) == 0 || strcmp(s->name, text) == 0))
			return s;
	return NULL;
}

static bool is_known(const struct registry *r, const char *id)
{
	const struct session *s;

	LIST_FOREACH (s, &r->live, entry)
		if (strcmp(s->id, id) == 0)
			return true;
	LIST_FOREACH (s, &r->ended, entry)
		if (strcmp(s->id, id) == 0)
			return true;
	return false;
}

static void append(struct registry *r, struct session *s)
{
	struct session *last = LIST_FIRST(&r->ended);

	while (last && LIST_NEXT(last, entry))
		last = LIST_NEXT(last, entry);
	if (last)
		LIST_INSERT_AFTER(last, s, entry);
	else
		LIST_INSERT_HEAD(&r->ended, s, entry);
}

void registry_read_history(struct registry *r)
{
	const struct audit_index *ix = &r->control->audit.index;
	struct session *last = NULL;
	unsigned n = 0;

	if (r->history_read)
		return;
	r->history_read = true;
	for (size_t i = ix->n_entries; i > 0 && n < HISTORY_MAX; i--) {
		char id[ISOD_ID_LEN + 1];
		struct session *s;

		if (ix->entries[i - 1].flags)
			continue;
		audit_index_id(&ix->entries[i - 1], id);
		if (is_known(r, id))
			continue;
		n++;
		s = history_read(r->control, id);
		if (!s)
			continue;
		if (last)
			LIST_INSERT_AFTER(last, s, entry);
		else
			append(r, s);
		last = s;
	}
}

struct session *registry_find(struct registry *r, uint32_t uid, const char *text, struct error *e)
{
	struct session *s = find_in(&r->live, uid, text);

	if (!s)
		s = find_in(&r->ended, uid, text);
	if (!s && !r->history_read) {
		registry_read_history(r);
		s = find_in(&r->ended, uid, text);
	}
	if (!s && registry_id_is_valid(text) && !is_known(r, text)) {
		s = history_read(r->control, text);
		if (s) {
			append(r, s);
			s = registry_may_see(uid, s) ? s : NULL;
		}
	}
	if (!s)
		error_set(e, ERROR_NO_SUCH_SESSION, ENOENT, "session", "See `isoctl sessions --all`.",
			  "There is no such session of yours.");
	return s;
}
