/* A line of shell, with all that it would run: every word is whole, every command stands in the text. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guard/unwrap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const struct shell_word *word)
{
	if (word->text && strlen(word->text) != word->len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_shell_script_ struct shell_script script = { .home = "/home/u" };
	int r = shell_parse(&script, (const char *)data, size, NULL, 0, 0);
	int u = unwrap_script(&script);

	if ((r != 0 && r != -EBADMSG && r != -E2BIG && r != -ENOMEM) ||
	    (u != 0 && u != -EBADMSG && u != -E2BIG && u != -ENOMEM))
		abort();
	for (size_t i = 0; i < script.n_commands; i++) {
		const struct shell_command *c = &script.commands[i];

		if (c->from > c->to || c->to > size)
			abort();
		for (size_t j = 0; j < c->n_words; j++)
			check_word(&c->words[j]);
		for (size_t j = 0; j < c->n_assignments; j++)
			check_word(&c->assignments[j].value);
		check_word(&c->input);
	}
	return 0;
}
