#ifndef ISOD_TESTS_GUARD_EXPLAINED_H
#define ISOD_TESTS_GUARD_EXPLAINED_H
/* What a line of shell would run, as text to compare: a line for each command. */
#include <stdio.h>
#include <string.h>

#include "guard/unwrap.h"

/* "[word][word] via" a line; ? is a word that is not known, * one that may be several; A=x for assignments. */
static inline void explained_add(char *out, size_t size, const struct shell_script *script)
{
	FILE *f = fmemopen(out, size, "w");

	for (size_t i = 0; i < script->n_commands; i++) {
		const struct shell_command *c = &script->commands[i];

		for (size_t j = 0; j < c->n_assignments; j++)
			fprintf(f, "%s=%s ", c->assignments[j].name, c->assignments[j].value.text ?: "?");
		for (size_t j = 0; j < c->n_words; j++)
			fprintf(f, "[%s]%s", c->words[j].text ?: "?", c->words[j].splits ? "*" : "");
		if (c->input_kind == SHELL_INPUT_TEXT)
			fprintf(f, " <<%s", c->input.text ?: "?");
		for (const struct shell_via *via = c->via; via; via = via->outer)
			fprintf(f, " %s", via->name);
		fputc('\n', f);
	}
	fclose(f);
}

/* In a buffer of its own, until the next call. Ends in "error" where the line cannot be read to its end. */
static inline const char *explained(const char *line, bool unwrapped)
{
	static char out[65536];
	_cleanup_shell_script_ struct shell_script script = { .home = "/home/u" };
	int r = shell_parse(&script, line, strlen(line), NULL, 0, 0);

	if (unwrapped && r == 0)
		r = unwrap_script(&script);
	memset(out, 0, sizeof(out));
	explained_add(out, sizeof(out) - 16, &script);
	if (r < 0)
		strcat(out, "error");
	return out;
}

#endif
