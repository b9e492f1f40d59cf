#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/unwrap_rule.h"

/* What is run from standard input. */
static int input_run(struct unwrap *u)
{
	switch (u->command.input_kind) {
	case SHELL_INPUT_TEXT:
		return unwrap_text(u, &u->command.input, unwrap_label(u, "<<"));
	case SHELL_INPUT_PIPE:
	case SHELL_INPUT_FILE:
		return unwrap_unknown(u, unwrap_label(u, "<"));
	default:
		return 0; /* a terminal, or nothing: what comes from there is no part of the line */
	}
}

static bool is_input(const char *path)
{
	return strcmp(path, "/dev/stdin") == 0 || strcmp(path, "/dev/fd/0") == 0 ||
	       strcmp(path, "/proc/self/fd/0") == 0 || strcmp(path, "-") == 0;
}

/* sh's own options: "-c" takes the next operand, wherever it stands in a bundle; "-o" and "+O" take a word. */
int unwrap_shell(struct unwrap *u, size_t first)
{
	bool command = false, input = false;
	size_t i = first;

	for (; i < u->command.n_words; i++) {
		const struct shell_word *w = &u->command.words[i];

		if (!w->text)
			return unwrap_unknown(u, u->name); /* -c, a script or nothing */
		if ((w->text[0] != '-' && w->text[0] != '+') || !w->text[1])
			break;
		if (strcmp(w->text, "--") == 0) {
			i++;
			break;
		}
		if (w->text[1] == '-') {
			i += strcmp(w->text, "--rcfile") == 0 || strcmp(w->text, "--init-file") == 0;
			continue;
		}
		command = command || (w->text[0] == '-' && strchr(w->text, 'c'));
		input = input || strchr(w->text, 's');
		i += strchr(w->text, 'o') != NULL || strchr(w->text, 'O') != NULL;
	}
	if (command)
		return i < u->command.n_words ? unwrap_text(u, &u->command.words[i], unwrap_label(u, "-c")) : 0;
	if (input || i >= u->command.n_words)
		return input_run(u);
	if (!u->command.words[i].text)
		return unwrap_unknown(u, u->name); /* a script that is made here, as in "sh <(...)" */
	return is_input(u->command.words[i].text) ? input_run(u) : 0;
}

int unwrap_eval(struct unwrap *u, size_t first)
{
	return unwrap_joined(u, first, u->command.n_words, u->name);
}

int unwrap_source(struct unwrap *u, size_t first)
{
	if (first >= u->command.n_words)
		return 0;
	if (!u->command.words[first].text)
		return unwrap_unknown(u, "source");
	return is_input(u->command.words[first].text) ? input_run(u) : 0;
}

int unwrap_trap(struct unwrap *u, size_t first)
{
	if (u->command.n_words - first < 2)
		return 0;
	return unwrap_text(u, &u->command.words[first], u->name);
}

int unwrap_command_option(struct unwrap *u, size_t first)
{
	const struct unwrap_rule *rule = unwrap_rule_find(u->name);
	const struct shell_word *text = unwrap_option(u, 1, &rule->options, 'c', "command");

	/* "su user -c text", "flock file -c text": options may follow the operand. */
	if (!text && first < u->command.n_words)
		text = unwrap_option(u, first, &rule->options, 'c', "command");
	if (!text && strcmp(u->name, "su") == 0 && first + 1 < u->command.n_words)
		text = unwrap_option(u, first + 1, &rule->options, 'c', "command");
	if (text)
		return unwrap_text(u, text, unwrap_label(u, "-c"));
	if (strcmp(u->name, "flock") == 0 || strcmp(u->name, "runuser") == 0)
		return unwrap_words(u, first, u->command.n_words, u->name);
	return strcmp(u->name, "sg") == 0 ? unwrap_joined(u, first, u->command.n_words, u->name) : 0;
}

static const struct unwrap_options env_options = {
	.values = "uCSa",
	.longs = (const char *const[]){ "unset", "chdir", "split-string", "argv0", NULL },
};

/* "-S": words in a notation of its own, near enough to the shell's: what differs is not known to do harm unseen. */
int unwrap_env(struct unwrap *u, size_t first)
{
	const struct shell_word *split = unwrap_option(u, first, &env_options, 'S', "split-string");
	size_t i;

	if (split) {
		int e = unwrap_text(u, split, unwrap_label(u, "-S"));

		if (e < 0)
			return e;
	}
	i = unwrap_assignments_skip(u, unwrap_options_skip(u, first, &env_options));
	/* With -S what follows is arguments to what it says; a command of its own it is not, but harmless to look at.
	 */
	return unwrap_words(u, i, u->command.n_words, u->name);
}
