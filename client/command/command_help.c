/* isoctl help: the overview, or one command's text. */
#include "client/command.h"
#include "client/report.h"

static const struct option options[] = { OPTION_END };

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct command *command;
	int words;

	if (n_operands == 0) {
		command_print_overview(stdout);
		return 0;
	}
	command = command_find(operands, n_operands, &words);
	if (!command) {
		command_unknown(operands, n_operands);
		return EXIT_USAGE;
	}
	command_print_help(command, stdout);
	return 0;
}

const struct command command_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "Explain a command",
	.options = options,
	.max_operands = 2,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
