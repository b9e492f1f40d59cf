#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/plan/policy_merge.h"
#include "json/write.h"
#include "proto/schema.h"

int method_policy_show(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct policy_show_parameters *p = parameters;
	struct policy policy = { 0 };
	struct json_writer *w;
	int r = policy_merge(c->control->config_fd, &p->policies, &policy, e);

	if (r == 0) {
		w = connection_reply_begin(c, false);
		if (w) {
			json_write_key(w, "policy");
			policy_write(&policy, w);
		}
		connection_reply_end(c, w);
	}
	policy_done(&policy);
	return r;
}
