#include "client/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "client/run/banner.h"

int run_started(struct run *run, struct error *e)
{
	const struct json_value *session = call_member(&run->call, "session", JSON_OBJECT, e);
	const struct json_value *id = json_get(session, "id");
	_cleanup_buffer_ struct buffer banner = BUFFER_INIT(1U << 20);

	if (!session)
		return -EPROTO;
	if (!id || id->type != JSON_STRING || id->string.len >= sizeof(run->session))
		return error_set(e, ERROR_INTERNAL, EPROTO, "protocol", "Install isod and isoctl from one release.",
				 "isod's answer names no session.");
	if (json_get(run->call.reply.parameters, "exec") &&
	    json_get(run->call.reply.parameters, "exec")->type == JSON_INTEGER)
		run->exec = json_get(run->call.reply.parameters, "exec")->integer;
	memcpy(run->session, id->string.data, id->string.len + 1);
	if (json_get(session, "project") && json_get(session, "project")->type == JSON_STRING)
		run->project = strdup(json_get(session, "project")->string.data);
	run_record_started(run->record, run->session);
	/* A banner that cannot be written is no reason to end what runs already. */
	if (!run->quiet && !run->attaches && banner_format(run->call.reply.parameters, run->environment, &banner) == 0)
		(void)fd_write_full(STDERR_FILENO, banner.data, banner.len);
	return 0;
}

void run_finished(struct run *run)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(8U << 20);

	if (!run->quiet && made_format(&run->made, run->project ? run->project : "/", run->session, &text) == 0)
		(void)fd_write_full(STDERR_FILENO, text.data, text.len);
	made_done(&run->made);
	free(run->project);
	run->project = NULL;
}
