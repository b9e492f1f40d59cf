#include "client/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const struct option *table;
	char **argv;
	int argc;
	int at; /* next argument to look at */
	char *out;
	struct error *e;
};

static const struct option *find_long(const struct option *table, const char *name, size_t len)
{
	for (const struct option *o = table; o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
	for (const struct option *o = table; o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static int list_add(struct option_list *list, const char *value)
{
	const char **grown = reallocarray(list->items, list->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->items = grown;
	list->items[list->count++] = value;
	return 0;
}

static int store(struct parser *p, const struct option *o, const char *value)
{
	void *field = p->out + o->offset;

	switch (o->kind) {
	case OPTION_SET:
		*(int *)field = o->value;
		return 0;
	case OPTION_STRING:
		*(const char **)field = value;
		return 0;
	case OPTION_LIST:
		return list_add(field, value);
	}
	return -EINVAL;
}

static int wrong(struct parser *p, const char *option, const char *text)
{
	return error_set(p->e, ERROR_INVALID, EINVAL, "options", "See --help.", "%s: %s.", option, text);
}

/* The value of an option that takes one and has none attached: the next argument, whatever it looks like. */
static const char *next_value(struct parser *p)
{
	return p->at < p->argc ? p->argv[p->at++] : NULL;
}

static int parse_long(struct parser *p, const char *argument, bool *ret_help)
{
	const char *name = argument + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option *o = find_long(p->table, name, len);
	const char *value = equals ? equals + 1 : NULL;

	if (!o && strcmp(name, "help") == 0) {
		*ret_help = true;
		return 0;
	}
	if (!o)
		return wrong(p, argument, "there is no such option");
	if (o->kind == OPTION_SET) {
		if (value)
			return wrong(p, argument, "this option takes no value");
		return store(p, o, NULL);
	}
	if (!value)
		value = next_value(p);
	if (!value)
		return wrong(p, argument, "a value is missing");
	return store(p, o, value);
}

static int parse_letters(struct parser *p, const char *argument, bool *ret_help)
{
	for (const char *letter = argument + 1; *letter; letter++) {
		const struct option *o = find_letter(p->table, *letter);
		const char *value;
		int r;

		if (!o && *letter == 'h') {
			*ret_help = true;
			continue;
		}
		if (!o)
			return wrong(p, argument, "there is no such option");
		if (o->kind != OPTION_SET) {
			value = letter[1] ? letter + 1 : next_value(p);
			return value ? store(p, o, value) : wrong(p, argument, "a value is missing");
		}
		r = store(p, o, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

int options_parse(const struct option *table, unsigned flags, char **argv, int argc, void *out, int *ret_operands,
		  bool *ret_help, struct error *e)
{
	struct parser p = { .table = table, .argv = argv, .argc = argc, .out = out, .e = e };
	bool options_ended = false;
	int operands = 0;

	*ret_help = false;
	while (p.at < argc) {
		char *argument = argv[p.at++];
		int r;

		if (options_ended || argument[0] != '-' || argument[1] == '\0') {
			argv[operands++] = argument;
			options_ended = options_ended || (flags & OPTIONS_STOP_AT_OPERAND);
			continue;
		}
		if (strcmp(argument, "--") == 0) {
			options_ended = true;
			continue;
		}
		r = argument[1] == '-' ? parse_long(&p, argument, ret_help) : parse_letters(&p, argument, ret_help);
		if (r < 0)
			return r;
	}
	if (operands < argc)
		argv[operands] = NULL;
	*ret_operands = operands;
	return 0;
}

void options_done(const struct option *table, void *out)
{
	for (const struct option *o = table; o->name; o++) {
		struct option_list *list = (void *)((char *)out + o->offset);

		if (o->kind != OPTION_LIST)
			continue;
		free(list->items);
		*list = (struct option_list){ 0 };
	}
}

void options_print(const struct option *table, FILE *to)
{
	for (const struct option *o = table; o->name; o++) {
		char letter[8] = "    ", form[64];

		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		snprintf(form, sizeof(form), "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
			 o->argument ? o->argument : "");
		fprintf(to, "  %-28s %s\n", form, o->help);
	}
	fprintf(to, "  %-28s %s\n", "-h, --help", "show this text");
}
