#include "client/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/escape.h"
#include "client/report.h"
#include "isod_config.h"

/* One a line, whatever their number. */
/* clang-format off */
const struct command *const commands[] = {
	&command_run,
	&command_sessions,
	&command_show,
	&command_log_verify,
	&command_log,
	&command_exec,
	&command_attach,
	&command_wait,
	&command_kill,
	&command_pending,
	&command_approve,
	&command_deny,
	&command_grant,
	&command_revoke,
	&command_policy_show,
	&command_policy_check,
	&command_policy_test,
	&command_policy_explain,
	&command_policy_reload,
	&command_policy_learn,
	&command_diff,
	&command_apply,
	&command_discard,
	&command_replay,
	&command_report,
	&command_trust,
	&command_status,
	&command_describe,
	&command_gateway,
	&command_guard,
	&command_completion,
	&command_help,
	NULL,
};
/* clang-format on */

const struct option global_options[] = {
	{ "socket", 0, "PATH", "isod's socket (also ISO_SOCKET; else " CLIENT_DEFAULT_SOCKET ")", OPTION_STRING,
	  offsetof(struct global_options, socket) },
	{ "version", 'V', NULL, "show the version", OPTION_SET, offsetof(struct global_options, version), 1 },
	OPTION_END,
};

/* How many words of argv the name matches; 0 = not this one. */
static int words_matched(const char *name, char **argv, int argc)
{
	const char *second = strchr(name, ' ');

	if (!second)
		return strcmp(argv[0], name) == 0 ? 1 : 0;
	if (argc < 2 || strncmp(argv[0], name, (size_t)(second - name)) != 0 || argv[0][second - name] != '\0')
		return 0;
	return strcmp(argv[1], second + 1) == 0 ? 2 : 0;
}

const struct command *command_find(char **argv, int argc, int *ret_words)
{
	for (size_t i = 0; argc > 0 && commands[i]; i++) {
		*ret_words = words_matched(commands[i]->name, argv, argc);
		if (*ret_words > 0)
			return commands[i];
	}
	return NULL;
}

/* Edits from one word to the other, a swap of neighbours counting once; words of up to 31 bytes. */
static unsigned distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	unsigned d[MAX][MAX];
	size_t n = strlen(a), m = strlen(b);

	if (n >= MAX || m >= MAX)
		return MAX;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			unsigned best;

			if (i == 0 || j == 0) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

static bool is_near(const char *typed, const char *name)
{
	size_t len = strlen(typed);

	return (len >= 2 && strncmp(typed, name, len) == 0) || distance(typed, name) <= (len > 4 ? 2 : 1);
}

void command_unknown(char **argv, int argc)
{
	const char *separator = "  did you mean: ";

	fputs("isoctl: there is no command \"", stderr);
	escape_print(stderr, argv[0]);
	fputs("\"\n", stderr);
	for (size_t i = 0; commands[i]; i++) {
		const char *name = commands[i]->name;
		size_t word = strcspn(name, " ");

		if (!is_near(argv[0], name) && !(strlen(argv[0]) == word && strncmp(argv[0], name, word) == 0))
			continue;
		fprintf(stderr, "%s%s", separator, name);
		separator = ", ";
	}
	fputs(separator[0] == ',' ? "\n" : "  isoctl help lists the commands\n", stderr);
}

void command_print_help(const struct command *command, FILE *to)
{
	fprintf(to, "usage: isoctl %s%s%s%s\n%s.\n\n", command->name, command->options[0].name ? " [OPTION]…" : "",
		command->operands[0] ? " " : "", command->operands, command->summary);
	options_print(command->options, to);
	if (command->details)
		fprintf(to, "\n%s", command->details);
}

void command_print_overview(FILE *to)
{
	fputs("usage: isoctl [OPTION]… COMMAND …\n"
	      "Runs commands, AI coding agents above all, in a sandbox of isod.\n\ncommands:\n",
	      to);
	for (size_t i = 0; commands[i]; i++)
		fprintf(to, "  %-16s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\noptions:\n", to);
	options_print(global_options, to);
	fputs("\n`isoctl help COMMAND` says more. A symlink to isoctl named NAME-iso runs NAME in the sandbox.\n", to);
}

static int run_command(const struct command *command, const struct client *client, char **argv, int argc)
{
	_cleanup_free_ void *options = calloc(1, command->options_size ? command->options_size : 1);
	struct error e = ERROR_INIT;
	int n_operands = 0, code;
	bool help;
	int r;

	if (!options)
		return command->usage_exit;
	r = options_parse(command->options, command->options_flags, argv, argc, options, &n_operands, &help, &e);
	if (r == 0 && !help &&
	    (n_operands < command->min_operands || (command->max_operands >= 0 && n_operands > command->max_operands)))
		r = error_set(&e, ERROR_INVALID, EINVAL, command->name, "", "usage: isoctl %s%s %s", command->name,
			      command->options[0].name ? " [OPTION]…" : "", command->operands);
	if (r == 0 && help) {
		command_print_help(command, stdout);
		code = 0;
	} else if (r == 0) {
		code = command->run(client, options, argv, n_operands);
	} else {
		report_error(&e);
		code = command->usage_exit;
	}
	options_done(command->options, options);
	return code;
}

/* "claude-iso" -> "claude"; NULL where the program goes by another name. */
static char *wrapped_name(const char *argv0)
{
	static const char suffix[] = "-iso";
	const char *slash = strrchr(argv0, '/'), *name = slash ? slash + 1 : argv0;
	size_t len = strlen(name);

	if (len < sizeof(suffix) || strcmp(name + len - (sizeof(suffix) - 1), suffix) != 0)
		return NULL;
	return strndup(name, len - (sizeof(suffix) - 1));
}

/* NAME-iso args = isoctl run -- NAME args: every argument is the wrapped command's own. */
static int run_wrapped(const struct client *client, char *name, int argc, char **argv)
{
	_cleanup_free_ char **wrapped = calloc((size_t)argc + 2, sizeof(*wrapped));

	if (!wrapped)
		return EXIT_ISOD;
	wrapped[0] = (char[]){ "--" };
	wrapped[1] = name;
	for (int i = 1; i < argc; i++)
		wrapped[i + 1] = argv[i];
	return run_command(&command_run, client, wrapped, argc + 1);
}

int command_main(int argc, char **argv)
{
	const char *environment = getenv("ISO_SOCKET");
	struct client client = { .socket = environment && environment[0] ? environment : CLIENT_DEFAULT_SOCKET };
	_cleanup_free_ char *name = argc > 0 ? wrapped_name(argv[0]) : NULL;
	struct global_options global = { 0 };
	struct error e = ERROR_INIT;
	const struct command *command;
	int n = 0, words = 0;
	bool help;

	if (name)
		return run_wrapped(&client, name, argc, argv);
	if (options_parse(global_options, OPTIONS_STOP_AT_OPERAND, argv + 1, argc > 0 ? argc - 1 : 0, &global, &n,
			  &help, &e) < 0) {
		report_error(&e);
		return EXIT_USAGE;
	}
	if (global.version) {
		puts("isoctl " ISOD_VERSION);
		return 0;
	}
	if (help || n == 0) {
		command_print_overview(help ? stdout : stderr);
		return help ? 0 : EXIT_USAGE;
	}
	if (global.socket)
		client.socket = global.socket;
	command = command_find(argv + 1, n, &words);
	if (!command) {
		command_unknown(argv + 1, n);
		return EXIT_USAGE;
	}
	return run_command(command, &client, argv + 1 + words, n - words);
}
