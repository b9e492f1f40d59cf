#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "daemon/control/usage.h"
#include "json/write.h"
#include "proto/schema.h"

int method_show(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct show_parameters *p = parameters;
	const struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);
	struct json_writer *w;

	if (!s)
		return -ENOENT;
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_key(w, "session");
		session_write(s, w);
		json_write_key(w, "policy");
		if (s->has_policy) {
			policy_write(&s->policy, w);
			json_write_key(w, "budget");
			usage_write(s, w);
		} else {
			/* Of an ended session only the digest is kept. */
			json_write_object(w);
			json_write_member_string(w, "digest", s->digest);
			json_write_object_end(w);
		}
	}
	connection_reply_end(c, w);
	return 0;
}
