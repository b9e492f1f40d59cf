#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "daemon/control/session_last.h"
#include "daemon/wire/session_wire.h"
#include "json/write.h"
#include "proto/schema.h"

static int check(const struct session *s, const struct call *call, struct error *e)
{
	if (!call->envelope->upgrade)
		return error_set(e, ERROR_INVALID, EINVAL, "upgrade", NULL, "Attach must be an upgrade.");
	if (s->state == SESSION_STARTING)
		return error_set(e, ERROR_REFUSED, EAGAIN, "attach", "Try again once it runs.",
				 "The session is only starting.");
	if (!session_is_attachable(s) && s->state == SESSION_ENDED)
		return error_set(e, ERROR_REFUSED, ENODATA, "attach", "See `isoctl show` and `isoctl log`.",
				 "The session has ended, and nothing is kept of what it showed last.");
	if (!session_is_attachable(s))
		return error_set(e, ERROR_REFUSED, ENOTTY, "attach", "Start it with --tty or --detach.",
				 "The session's output goes to whoever started it, not through isod.");
	return 0;
}

int method_attach(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct attach_parameters *p = parameters;
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);
	struct json_writer *w;
	int r = s ? check(s, call, e) : -ENOENT;

	if (r < 0)
		return r;
	connection_set_busy(c);
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_key(w, "session");
		session_write(s, w);
	}
	connection_reply_end(c, w);
	if (s->state == SESSION_ENDED)
		session_last_send(s, c);
	else
		connection_lend_to(c, s,
				   (p->watch ? SESSION_ATTACH_WATCH : 0) | (p->take ? SESSION_ATTACH_TAKE : 0) |
					   SESSION_ATTACH_STAYS,
				   (uint16_t)p->terminal.rows, (uint16_t)p->terminal.columns);
	return 0;
}
