#include <errno.h>
#include <string.h>

#include "guard/unwrap_rule.h"

/* "-exec CMD ;" and "-exec CMD {} +", each a command. */
int unwrap_find(struct unwrap *u, size_t first)
{
	for (size_t i = first; i < u->command.n_words; i++) {
		const char *text = u->command.words[i].text;
		size_t end = i + 1;
		int e;

		if (!text || (strcmp(text, "-exec") != 0 && strcmp(text, "-execdir") != 0 && strcmp(text, "-ok") != 0 &&
			      strcmp(text, "-okdir") != 0))
			continue;
		for (; end < u->command.n_words; end++) {
			text = u->command.words[end].text;
			if (text &&
			    (strcmp(text, ";") == 0 || (strcmp(text, "+") == 0 && u->command.words[end - 1].text &&
							strcmp(u->command.words[end - 1].text, "{}") == 0)))
				break;
		}
		e = unwrap_words(u, i + 1, end, unwrap_label(u, u->command.words[i].text));
		if (e < 0)
			return e;
		i = end;
	}
	return 0;
}

/* The command with one more word that nobody knows: what comes from the input. */
static int with_input(struct unwrap *u, size_t first, size_t end)
{
	size_t n = end - first;
	struct shell_word *words = shell_alloc(u->script, (n + 1) * sizeof(*words));
	struct shell_command before = u->command;
	int e;

	if (!words)
		return -ENOMEM;
	memcpy(words, u->command.words + first, n * sizeof(*words));
	words[n] = (struct shell_word){ .splits = true };
	u->command.words = words;
	u->command.n_words = n + 1;
	e = unwrap_words(u, 0, n + 1, u->name);
	u->command = before;
	return e;
}

static const struct unwrap_options xargs_options = {
	.values = "adEILnPs",
	.longs = (const char *const[]){ "arg-file", "delimiter", "max-args", "max-procs", "max-chars",
					"process-slot-var", NULL },
};

int unwrap_xargs(struct unwrap *u, size_t first)
{
	size_t i = unwrap_options_skip(u, first, &xargs_options);

	/* Without a command it is echo. */
	return i < u->command.n_words ? with_input(u, i, u->command.n_words) : 0;
}

static const struct unwrap_options parallel_options = {
	.values = "aCdEIjJLNnPSsUW",
	.longs = (const char *const[]){ "arg-file", "arg-sep", "colsep",   "delay",    "delimiter", "halt",
					"jobs",     "joblog",  "load",     "max-args", "max-procs", "memfree",
					"results",  "retries", "rpl",      "sshlogin", "timeout",   "wd",
					"workdir",  "tmpdir",  "basefile", "env",      "nice",      "block",
					"recstart", "recend",  NULL },
};

/* GNU parallel: "CMD ::: words"; the words go to the end or where {} is. The command is given to a shell. */
int unwrap_parallel(struct unwrap *u, size_t first)
{
	size_t i = unwrap_options_skip(u, first, &parallel_options), end = i;

	while (end < u->command.n_words &&
	       !(u->command.words[end].text && strncmp(u->command.words[end].text, ":::", 3) == 0))
		end++;
	if (i == end) { /* the words themselves are the commands */
		for (i = end + 1; i < u->command.n_words; i++) {
			int e = unwrap_text(u, &u->command.words[i], u->name);

			if (e < 0)
				return e;
		}
		return end == u->command.n_words ? unwrap_unknown(u, u->name) : 0;
	}
	if (end == i + 1 && u->command.words[i].text && strpbrk(u->command.words[i].text, " \t\n;&|"))
		return unwrap_text(u, &u->command.words[i], u->name);
	return with_input(u, i, end);
}
