/* isoctl completion: shell completion out of the command table. */
#include <string.h>

#include "client/command.h"
#include "client/report.h"

static const struct option options[] = { OPTION_END };

/* The first word of each command's name, once. */
static void print_words(const char *separator)
{
	const char *before = "";

	for (size_t i = 0; commands[i]; i++) {
		const char *name = commands[i]->name;
		size_t len = strcspn(name, " ");

		if (i > 0 && strncmp(commands[i - 1]->name, name, len) == 0 && commands[i - 1]->name[len] == ' ')
			continue;
		printf("%s%.*s", before, (int)len, name);
		before = separator;
	}
}

static void print_bash(void)
{
	fputs("_isoctl()\n{\n\tlocal word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"",
	      stdout);
	print_words(" ");
	fputs("\" -- \"$word\"))\n\t\treturn\n\tfi\n"
	      "\t[ \"$command\" = policy ] && [ \"$COMP_CWORD\" -gt 2 ] && command=\"policy ${COMP_WORDS[2]}\"\n"
	      "\tcase $command in\n\tpolicy) COMPREPLY=($(compgen -W \"check explain reload show test\" -- \"$word\")) "
	      ";;\n",
	      stdout);
	for (size_t i = 0; commands[i]; i++) {
		printf("\t\"%s\") COMPREPLY=($(compgen -W \"--help", commands[i]->name);
		for (const struct option *o = commands[i]->options; o->name; o++)
			printf(" --%s", o->name);
		fputs("\" -- \"$word\")) ;;\n", stdout);
	}
	fputs("\tesac\n}\ncomplete -o default -F _isoctl isoctl\n", stdout);
}

/* Single quotes inside single quotes, for zsh and fish. */
static void print_quoted(const char *text)
{
	for (; *text; text++)
		fputs(*text == '\'' ? "'\\''" : (char[]){ *text, '\0' }, stdout);
}

static void print_zsh(void)
{
	fputs("#compdef isoctl\nlocal -a words\nif (( CURRENT == 2 )); then\n\twords=(", stdout);
	print_words(" ");
	fputs(")\n\tcompadd -a words\n\treturn\nfi\ncase \"$words[2]\" in\n", stdout);
	for (size_t i = 0; commands[i]; i++) {
		if (strchr(commands[i]->name, ' '))
			continue;
		printf("%s) _arguments", commands[i]->name);
		for (const struct option *o = commands[i]->options; o->name; o++) {
			printf(" '--%s%s[", o->name, o->argument ? "=" : "");
			print_quoted(o->help);
			printf("]%s%s'", o->argument ? ":" : "", o->argument ? o->argument : "");
		}
		fputs(" '*::command:_normal' ;;\n", stdout);
	}
	fputs("policy) compadd show check test explain reload ;;\nesac\n", stdout);
}

static void print_fish(void)
{
	fputs("complete -c isoctl -n __fish_use_subcommand -f -a '", stdout);
	print_words(" ");
	fputs("'\n", stdout);
	for (size_t i = 0; commands[i]; i++) {
		const char *name = commands[i]->name;

		for (const struct option *o = commands[i]->options; o->name; o++) {
			printf("complete -c isoctl -n '__fish_seen_subcommand_from %.*s' -l %s%s -d '",
			       (int)strcspn(name, " "), name, o->name, o->argument ? " -r" : "");
			print_quoted(o->help);
			fputs("'\n", stdout);
		}
	}
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(operands[0], shells[i].shell) != 0)
			continue;
		shells[i].print();
		return 0;
	}
	fputs("isoctl: completion: bash, zsh and fish are known\n", stderr);
	return EXIT_USAGE;
}

const struct command command_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.summary = "Print completion rules for a shell",
	.details = "bash: source <(isoctl completion bash). zsh: write it to a file _isoctl in $fpath. fish: isoctl "
		   "completion\n"
		   "fish | source.\n",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
