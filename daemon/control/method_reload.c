#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "proto/schema.h"

/* The reply is sent by reload_answered(), once the rules hold. */
int method_policy_reload(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct policy_reload_parameters *p = parameters;
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);

	if (!s)
		return -ENOENT;
	if (s->state == SESSION_ENDED)
		return error_set(e, ERROR_REFUSED, ESRCH, "session", NULL, "The session has ended.");
	if (s->state == SESSION_STARTING)
		return error_set(e, ERROR_REFUSED, EAGAIN, "session", "Try again once it runs.",
				 "The session is only starting.");
	if (s->reload.waits)
		return error_set(e, ERROR_REFUSED, EBUSY, "session", "Try again.",
				 "Its rules are being replaced by another call.");
	return reload_begin(s, c, &p->policies, e);
}
