#ifndef ISOD_GUARD_UNWRAP_RULE_H
#define ISOD_GUARD_UNWRAP_RULE_H
/* How the programs that run others are described, and what the files that unwrap share. */
#include "guard/shell_reader.h"
#include "guard/unwrap.h"

/* A command that is being unwrapped: a copy, since what is found moves the list it is in. */
struct unwrap {
	struct shell_script *script;
	struct shell_command command;
	const char *name; /* its program, without folders */
	int error;        /* the first of its texts that could not be read */
};

/* The options in front of what a program runs. */
struct unwrap_options {
	const char *values; /* short options that take a value */
	const char *const
		*longs; /* long options that take their value as the next word; NULL-terminated; may be NULL */
};

struct unwrap_rule {
	const char *name;
	struct unwrap_options options;
	unsigned operands; /* words before what it runs */
	/* NULL: the rest is a command. first: the first word that is neither option nor operand. */
	int (*run)(struct unwrap *u, size_t first);
	unsigned flags;
};

enum unwrap_flags {
	UNWRAP_ASSIGNMENTS = 1 << 0, /* NAME=value may stand before the command */
	UNWRAP_JOINED = 1 << 1,      /* the rest is joined by blanks and given to a shell */
	UNWRAP_RAW = 1 << 2,         /* .run looks at the options itself: first is 1 */
};

/* --- unwrap_table.c --- */
const struct unwrap_rule *unwrap_rule_find(const char *name);

/* --- unwrap.c --- */
/* Past the options from word i on; where a word that is not known could be an option or not, that one. */
size_t unwrap_options_skip(const struct unwrap *u, size_t i, const struct unwrap_options *options);
/* Past NAME=value. */
size_t unwrap_assignments_skip(const struct unwrap *u, size_t i);
/* The value of a short or long option among the options from word i on, as a word; NULL: not there. */
const struct shell_word *unwrap_option(const struct unwrap *u, size_t i, const struct unwrap_options *options,
				       char letter, const char *name);
/* Adds words[first..end) as a command. */
int unwrap_words(struct unwrap *u, size_t first, size_t end, const char *via);
/* Adds what the text runs in a shell; without text, a command that is not known. */
int unwrap_text(struct unwrap *u, const struct shell_word *text, const char *via);
/* The same with words[first..end) joined by blanks. */
int unwrap_joined(struct unwrap *u, size_t first, size_t end, const char *via);
/* Adds a command that is not known. */
int unwrap_unknown(struct unwrap *u, const char *via);
/* "NAME" or "NAME -c", in the script's memory; NULL. */
const char *unwrap_label(struct unwrap *u, const char *suffix);

/* --- unwrap_shell.c --- */
int unwrap_shell(struct unwrap *u, size_t first);
int unwrap_eval(struct unwrap *u, size_t first);
int unwrap_source(struct unwrap *u, size_t first);
int unwrap_trap(struct unwrap *u, size_t first);
int unwrap_env(struct unwrap *u, size_t first);
int unwrap_command_option(struct unwrap *u, size_t first); /* su -c, script -c, flock -c */

/* --- unwrap_argument.c --- */
int unwrap_find(struct unwrap *u, size_t first);
int unwrap_xargs(struct unwrap *u, size_t first);
int unwrap_parallel(struct unwrap *u, size_t first);

/* --- unwrap_code.c --- */
int unwrap_code(struct unwrap *u, size_t first);

#endif
