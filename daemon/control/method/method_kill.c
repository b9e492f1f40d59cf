#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/exec.h"
#include "daemon/control/session.h"
#include "proto/schema.h"

int method_kill(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct kill_parameters *p = parameters;
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);
	int r = 0;

	if (!s)
		return -ENOENT;
	if (p->exec > 0)
		r = exec_signal(s, p->exec, (int)p->signal);
	/* One that has ended is as dead as was asked. */
	else if (s->state == SESSION_ENDED)
		r = 0;
	else if (p->signal == 0)
		session_kill(s, CAUSE_KILL);
	else if (s->state == SESSION_STARTING)
		return error_set(e, ERROR_REFUSED, EAGAIN, "signal", "Try again once it runs.",
				 "The session is only starting.");
	else
		r = session_link_signal(&s->link, (int)p->signal);
	if (r == -ESRCH && p->exec > 0)
		return error_set(e, ERROR_NO_SUCH_SESSION, ESRCH, "exec", NULL, "That command has ended.");
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "signal", "End it with `isoctl kill`.",
				 "The signal could not be passed on to the session.");
	connection_reply_end(c, connection_reply_begin(c, false));
	return 0;
}
