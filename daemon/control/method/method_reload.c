#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "proto/schema.h"

/* The reply is sent by reload_answered(), once the rules hold. */
int method_policy_reload(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct policy_reload_parameters *p = parameters;
	struct session *s = reload_find(c, p->session, e);

	return s ? reload_apply(s, &p->policies, c, e) : -ESRCH;
}
