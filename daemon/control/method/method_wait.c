#include "daemon/control/method/method_wait.h"

#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "json/write.h"
#include "proto/schema.h"

static void reply(struct connection *c, const struct session *s)
{
	struct json_writer *w = connection_reply_begin(c, false);

	if (w) {
		json_write_key(w, "session");
		session_write(s, w);
	}
	connection_reply_end(c, w);
}

int method_wait(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct wait_parameters *p = parameters;
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);

	if (!s)
		return -ENOENT;
	if (s->state == SESSION_ENDED) {
		reply(c, s);
		return 0;
	}
	connection_set_busy(c);
	c->waits = true;
	LIST_INSERT_HEAD(&s->waiters, c, waiter);
	return 0;
}

void wait_leave(struct connection *c)
{
	if (c->waits)
		LIST_REMOVE(c, waiter);
	c->waits = false;
}

void wait_answer(struct session *s, const struct error *e)
{
	struct connection *c;

	while ((c = LIST_FIRST(&s->waiters))) {
		wait_leave(c);
		if (e)
			connection_reply_error(c, e);
		else
			reply(c, s);
		connection_call_done(c);
	}
}
