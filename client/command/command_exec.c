/* isoctl exec: one more command in a session that runs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/command.h"
#include "client/report.h"
#include "client/run/exec_terminal.h"
#include "client/run/run.h"
#include "client/run/run_options.h"
#include "client/run/terminal.h"

struct exec_options {
	const char *cwd;
	int tty;
};

#define AT(field) offsetof(struct exec_options, field)

static const struct option options[] = {
	{ "cwd", 'C', "PATH", "start in PATH, as it is called inside", OPTION_STRING, AT(cwd) },
	{ "tty", 't', NULL, "give it a terminal of its own", OPTION_SET, AT(tty), RUN_TTY_ALWAYS },
	{ "no-tty", 'T', NULL, "give it none", OPTION_SET, AT(tty), RUN_TTY_NEVER },
	OPTION_END,
};

static bool wants_terminal(const struct exec_options *o)
{
	if (o->tty != RUN_TTY_AUTO)
		return o->tty == RUN_TTY_ALWAYS;
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static void write_bytes(struct json_writer *w, const char *name, const char *bytes)
{
	json_write_key(w, name);
	json_write_bytes(w, bytes, strlen(bytes));
}

static void write_request(struct json_writer *w, const struct exec_options *o, bool terminal, char **operands)
{
	const char *term = getenv("TERM");

	json_write_member_string(w, "session", operands[0]);
	json_write_key(w, "argv");
	json_write_array(w);
	for (char **arg = operands + 1; *arg; arg++)
		json_write_bytes(w, *arg, strlen(*arg));
	json_write_array_end(w);
	if (o->cwd)
		write_bytes(w, "cwd", o->cwd);
	if (terminal) {
		uint16_t rows, columns;

		terminal_size(&rows, &columns);
		json_write_key(w, "terminal");
		json_write_object(w);
		json_write_member_integer(w, "rows", rows);
		json_write_member_integer(w, "columns", columns);
		json_write_object_end(w);
		if (term)
			write_bytes(w, "term", term);
	}
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct exec_options *o = filled;
	struct run run = { .client = client, .quiet = true, .call = CALL_INIT, .made = MADE_INIT };
	bool terminal = wants_terminal(o);
	struct error e = ERROR_INIT;
	int code;

	/* The session's name ends the options, so that "--" may stand behind it. */
	if (strcmp(operands[1], "--") == 0) {
		memmove(operands + 1, operands + 2, (size_t)(n_operands - 1) * sizeof(*operands));
		n_operands--;
	}
	if (n_operands < 2) {
		error_set(&e, ERROR_INVALID, 0, "exec", "",
			  "usage: isoctl exec [OPTION]… SESSION [--] COMMAND "
			  "[ARGUMENT]…");
		report_error(&e);
		return EXIT_ISOD;
	}
	write_request(call_begin(&run.call, "org.isod.Exec", CALL_MORE), o, terminal, operands);
	if (call_finish(&run.call, &e) == 0) {
		code = terminal ? exec_terminal(&run) : run_pipes(&run);
	} else {
		report_error(&e);
		code = report_run_code(&e);
	}
	call_done(&run.call);
	return code;
}

const struct command command_exec = {
	.name = "exec",
	.operands = "SESSION [--] COMMAND [ARGUMENT]…",
	.summary = "Run one more command in a session that runs",
	.details =
		"The command sees what the session's program sees, under the same rules and limits, with the same "
		"variables.\n"
		"Where stdin and stdout are terminals, or with --tty, it has a terminal of its own. It ends with the "
		"session,\n"
		"and is hung up when isoctl ends.\n\n"
		"Exit code: the command's own; 128+N where signal N ended it; 125 it could not be started; 126 it "
		"cannot be\n"
		"executed; 127 it is not there.\n",
	.options = options,
	.options_size = sizeof(struct exec_options),
	.options_flags = OPTIONS_STOP_AT_OPERAND,
	.min_operands = 2,
	.max_operands = -1,
	.usage_exit = EXIT_ISOD,
	.run = run,
};
