#include "base/limits.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "json/write.h"
#include "proto/schema.h"

/* Newest first, until the reply would be larger than a message may be: the oldest are left out. */
static void write_list(const struct session_list *list, uint32_t uid, bool ended, size_t *room, struct json_writer *w)
{
	const struct session *s;

	LIST_FOREACH (s, list, entry) {
		if (!registry_may_see(uid, s) || (s->state == SESSION_ENDED && !ended))
			continue;
		if (session_write_size(s) > *room)
			return;
		*room -= session_write_size(s);
		session_write(s, w);
	}
}

int method_list(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct list_parameters *p = parameters;
	struct registry *r = &c->control->registry;
	size_t room = LIMIT_MESSAGE - 1024;
	struct json_writer *w;

	if (p->all)
		registry_read_history(r);
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_key(w, "sessions");
		json_write_array(w);
		write_list(&r->live, c->uid, p->all, &room, w);
		if (p->all)
			write_list(&r->ended, c->uid, true, &room, w);
		json_write_array_end(w);
	}
	connection_reply_end(c, w);
	return 0;
}
