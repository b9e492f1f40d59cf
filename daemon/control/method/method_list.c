#include "base/limits.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "json/write.h"
#include "proto/schema.h"

/* Newest first, until the reply would be larger than a message may be: the oldest are only counted. */
static void write_list(const struct connection *c, const struct session_list *list, bool ended, size_t *more,
		       struct json_writer *w)
{
	const struct session *s;

	LIST_FOREACH (s, list, entry) {
		if (!registry_may_see(c->uid, s) || (s->state == SESSION_ENDED && !ended))
			continue;
		if (*more > 0 || !connection_reply_has_room(c, session_write_size(s)))
			(*more)++;
		else
			session_write(s, w);
	}
}

int method_list(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct list_parameters *p = parameters;
	struct registry *r = &c->control->registry;
	size_t more = 0;
	struct json_writer *w;

	if (p->all)
		registry_read_history(r);
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_key(w, "sessions");
		json_write_array(w);
		write_list(c, &r->live, p->all, &more, w);
		if (p->all)
			write_list(c, &r->ended, true, &more, w);
		json_write_array_end(w);
		json_write_member_integer(w, "more", (int64_t)more);
	}
	connection_reply_end(c, w);
	return 0;
}
