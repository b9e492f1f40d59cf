#ifndef ISOD_GUARD_SHELL_H
#define ISOD_GUARD_SHELL_H
/*
 * What a line of shell would run, without running it: POSIX's grammar with bash's additions, read into the simple
 * commands that can be reached, each with its words as the program would get them. What only running could tell is not
 * guessed: such a word has no text. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;

struct shell_word {
	const char *text; /* terminated, may hold no NUL; NULL: only running could tell */
	size_t len;
	bool quoted;  /* some of it was: never a reserved word */
	bool glob;    /* has an unquoted * ? or [: may become other words where files match */
	bool assigns; /* begins with an unquoted NAME=, whatever the rest is */
	bool splits;  /* without text, and unquoted: may become none, one or several words */
};

struct shell_assignment {
	const char *name;
	struct shell_word value; /* no text: an array, or an addition, or not known */
};

/* Where a command comes from if it is not in the line itself, from the inside out. */
struct shell_via {
	const char *name; /* "bash -c" */
	const struct shell_via *outer;
};

/* What a command reads as its standard input, as far as the line says. */
enum shell_input {
	SHELL_INPUT_INHERITED,
	SHELL_INPUT_TEXT, /* a here-document or here-string: .input */
	SHELL_INPUT_PIPE, /* the command before it */
	SHELL_INPUT_FILE, /* a redirection */
};

struct shell_command {
	struct shell_word *words; /* at least one, or at least one assignment, or a redirection alone */
	size_t n_words;
	struct shell_assignment *assignments;
	size_t n_assignments;
	enum shell_input input_kind;
	struct shell_word input; /* with SHELL_INPUT_TEXT */
	const struct shell_via *via;
	size_t from, to; /* its place in the text that was given, in bytes */
};

struct shell_script {
	struct arena *arena;
	struct shell_command *commands; /* in the order in which they end: an inner one before that around it */
	size_t n_commands;
	/* Not private but of no use outside of this room. */
	size_t size_commands;
	size_t used;     /* bytes of the arena that were asked for */
	size_t n_words;  /* over all commands: brace expansion multiplies */
	size_t n_joints; /* what is more than one simple command: operators, reserved words */
	size_t n_steps;  /* commands and substitutions that were begun, again where another reading was tried */
	unsigned depth;
	bool ifs_assigned;
	const char *home;
};

#define SHELL_SCRIPT_INIT                                                                                              \
	{                                                                                                              \
		.arena = NULL                                                                                          \
	}

/*
 * Adds the commands of text to *script. home: what ~ stands for; NULL: such words have no text. via: what runs the
 * text; NULL: its places are those in text itself, else all commands get from and to. 0; -EBADMSG: it is no shell that
 * we know; -E2BIG: past a bound of base/limits.h; -ENOMEM. The commands that were read before an error stay.
 */
int shell_parse(struct shell_script *script, const char *text, size_t len, const struct shell_via *via, size_t from,
		size_t to);

void shell_script_done(struct shell_script *script);
#define _cleanup_shell_script_ __attribute__((cleanup(shell_script_done)))

#endif
