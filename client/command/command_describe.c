/* isoctl describe: the interface text of the running isod. */
#include <string.h>

#include "client/call.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/report.h"

static const struct option options[] = { OPTION_END };

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const char *interface = n_operands ? operands[0] : "org.isod";
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *text = NULL;
	struct error e = ERROR_INIT;
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_MESSAGE);
	int r;

	json_write_member_string(call_begin(&call, "org.varlink.service.GetInterfaceDescription", 0), "interface",
				 interface);
	r = call_send(&call, client, &e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, &e);
	if (r == 0)
		text = call_member(&call, "description", JSON_STRING, &e);
	if (!text) {
		report_error(&e);
		return 1;
	}
	if (buffer_append(&out, text->string.data, text->string.len) < 0 ||
	    (text->string.len > 0 && text->string.data[text->string.len - 1] != '\n' &&
	     buffer_append_string(&out, "\n") < 0))
		return 1;
	return listing_print(&out);
}

const struct command command_describe = {
	.name = "describe",
	.operands = "[INTERFACE]",
	.summary = "Print the interface text that isod serves",
	.options = options,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
