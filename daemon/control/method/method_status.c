#include <string.h>

#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/late.h"
#include "isod_config.h"
#include "json/write.h"

int method_status(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	struct control *control = c->control;
	struct error why = ERROR_INIT;
	bool ready = control_check_ready(control, &why) == 0;
	struct json_writer *w = connection_reply_begin(c, false);

	if (w) {
		json_write_member_string(w, "version", ISOD_VERSION);
		json_write_member_bool(w, "ready", ready);
		json_write_key(w, "reason");
		if (!ready)
			json_write_string(w, why.message);
		else if (control->audit.failing)
			json_write_string(w, "The audit log cannot be written; events are lost.");
		else
			json_write_null(w);
		json_write_member_integer(w, "landlock", control->landlock_abi);
		json_write_member_string(w, "late", late_state_name(control->late_way));
		json_write_key(w, "lateReason");
		if (late_reason_text(control->late_way, control->late_reason))
			json_write_string(w, late_reason_text(control->late_way, control->late_reason));
		else
			json_write_null(w);
		json_write_member_integer(w, "sessions", registry_count_live(&control->registry, c->uid));
	}
	connection_reply_end(c, w);
	return 0;
}
