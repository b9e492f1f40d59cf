#ifndef ISOD_CLIENT_COMMAND_H
#define ISOD_CLIENT_COMMAND_H
/*
 * The commands, one file each: a row says what a command is called, what it takes and what runs it; help, completion
 * and dispatch come from the rows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "client/options.h"

#define CLIENT_DEFAULT_SOCKET "/run/isod/isod.sock"

/* What every command is given. */
struct client {
	const char *socket;
};

struct command {
	const char *name;     /* one word, or two: "policy show" */
	const char *operands; /* for the usage line */
	const char *summary;  /* one line */
	const char *details;  /* more help, ends in a newline; NULL */
	const struct option *options;
	size_t options_size; /* of the struct that they fill */
	unsigned options_flags;
	int min_operands;
	int max_operands; /* -1: no bound */
	int usage_exit;   /* exit code of a wrong command line */
	/* Returns the exit code. options: the filled struct; operands: NULL-terminated. */
	int (*run)(const struct client *client, const void *options, char **operands, int n_operands);
};

extern const struct command *const commands[]; /* NULL-terminated, in the order of the help */

extern const struct command command_run, command_sessions, command_show, command_log, command_log_verify, command_kill,
	command_policy_show, command_policy_check, command_policy_test, command_policy_explain, command_policy_reload,
	command_policy_learn, command_grant, command_revoke, command_diff, command_apply, command_discard,
	command_status, command_describe, command_completion, command_help, command_trust, command_gateway,
	command_guard, command_exec, command_replay, command_report, command_attach, command_wait, command_pending,
	command_approve, command_deny;

/* The options before the command. */
struct global_options {
	const char *socket;
	int version;
};
extern const struct option global_options[];

/* The command that argv begins with, and how many words of argv its name takes; NULL. */
const struct command *command_find(char **argv, int argc, int *ret_words);
/* "there is no such command", with the names nearest to it. */
void command_unknown(char **argv, int argc);
void command_print_help(const struct command *command, FILE *to);
void command_print_overview(FILE *to);

/* All of isoctl: argv as main() got it. Returns the exit code. */
int command_main(int argc, char **argv);

#endif
