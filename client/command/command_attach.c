/* isoctl attach: to a session that runs, or what one that has ended showed last. */
#include <unistd.h>

#include "client/call.h"
#include "client/command.h"
#include "client/report.h"
#include "client/run/detach_keys.h"
#include "client/run/run.h"
#include "client/run/terminal.h"

struct attach_options {
	int watch;
	int take;
	int quiet;
	const char *detach_keys;
};

#define AT(field) offsetof(struct attach_options, field)

static const struct option options[] = {
	{ "watch", 'w', NULL, "look on only", OPTION_SET, AT(watch), 1 },
	{ "take", 0, NULL, "drive it even where another client does, which then watches", OPTION_SET, AT(take), 1 },
	{ "detach-keys", 0, "KEYS", "what leaves it (ctrl-p,ctrl-q)", OPTION_STRING, AT(detach_keys) },
	{ "quiet", 'q', NULL, "say nothing on stderr", OPTION_SET, AT(quiet), 1 },
	OPTION_END,
};

static void write_request(struct json_writer *w, const char *session, const struct attach_options *o)
{
	uint16_t rows, columns;

	terminal_size(&rows, &columns);
	json_write_member_string(w, "session", session);
	json_write_key(w, "terminal");
	json_write_object(w);
	json_write_member_integer(w, "rows", rows);
	json_write_member_integer(w, "columns", columns);
	json_write_object_end(w);
	json_write_member_bool(w, "watch", o->watch);
	json_write_member_bool(w, "take", o->take);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct attach_options *o = filled;
	struct detach_keys keys;
	struct run attach = { .client = client,
			      .keys = &keys,
			      .quiet = o->quiet,
			      .attaches = true,
			      .watches = o->watch,
			      .call = CALL_INIT,
			      .made = MADE_INIT };
	struct error e = ERROR_INIT;
	int r = detach_keys_option(o->detach_keys, &keys, &e), code;

	if (r == 0) {
		write_request(call_begin(&attach.call, "org.isod.Attach", CALL_UPGRADE), operands[0], o);
		r = call_finish(&attach.call, &e);
	}
	if (r == 0) {
		code = run_terminal(&attach);
	} else {
		report_error(&e);
		code = EXIT_ISOD;
	}
	call_done(&attach.call);
	return code;
}

const struct command command_attach = {
	.name = "attach",
	.operands = "SESSION",
	.summary = "Go to a session that runs, or see what an ended one showed last",
	.details =
		"One client drives a session, others may watch. Ctrl-p ctrl-q leave it running; ctrl-c too, for those "
		"who\n"
		"watch. Of a session without a terminal the last 64 KiB of its output are shown, and what follows.\n\n"
		"Exit code: 0 where you leave it, else as of run: the command's own where it ends; 123 where another "
		"client\n"
		"drives it (--watch, --take).\n",
	.options = options,
	.options_size = sizeof(struct attach_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_ISOD,
	.run = run,
};
