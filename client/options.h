#ifndef ISOD_CLIENT_OPTIONS_H
#define ISOD_CLIENT_OPTIONS_H
/*
 * Options by table: one row an option, decoded into a struct at the row's offset; the help text comes from the same
 * rows. Forms: --name, --name VALUE, --name=VALUE, -x, -x VALUE, -xVALUE, -xyz (flags). "--" ends the options.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum option_kind {
	OPTION_SET = 1, /* int: becomes .value */
	OPTION_STRING,  /* const char *: the last one counts */
	OPTION_LIST,    /* struct option_list: all of them, in order */
};

struct option_list {
	const char **items; /* heap array of pointers into argv */
	size_t count;
};

struct option {
	const char *name;     /* long form without dashes */
	char letter;          /* short form, or 0 */
	const char *argument; /* what the value is called in the help; NULL with OPTION_SET */
	const char *help;
	enum option_kind kind;
	size_t offset;
	int value; /* OPTION_SET */
};

#define OPTION_END                                                                                                     \
	{                                                                                                              \
		.name = NULL                                                                                           \
	}

enum options_flags {
	OPTIONS_STOP_AT_OPERAND = 1 << 0, /* the first operand ends the options: what follows is another command's */
};

/*
 * Decodes argv[0..argc) (no program name) into *out. The operands are moved to the front of argv in their order; their
 * number goes to *ret_operands, and the pointer after them in argv becomes NULL if there is room. -h and --help are
 * known to every table: *ret_help. 0, or -EINVAL with *e filled; options_done() in any case.
 */
int options_parse(const struct option *table, unsigned flags, char **argv, int argc, void *out, int *ret_operands,
		  bool *ret_help, struct error *e);

void options_done(const struct option *table, void *out);

/* The rows as help text. */
void options_print(const struct option *table, FILE *to);

#endif
