#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "proto/schema.h"

/* Both replies are sent by reload_answered(), once the rules hold. */
int method_grant(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct grant_parameters *p = parameters;
	struct session *s = reload_find(c, p->session, e);
	const struct grant_terms terms = { .seconds = (uint64_t)p->seconds, .once = p->once };

	return s ? grants_add(s, c, p->host, &terms, e) : -ESRCH;
}

int method_revoke(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct revoke_parameters *p = parameters;
	struct session *s = reload_find(c, p->session, e);

	return s ? grants_remove(s, c, p->host, e) : -ESRCH;
}
