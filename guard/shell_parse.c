#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "guard/shell_reader.h"

#define RESERVED_MAX 16

void shell_reserved_peek(struct shell_reader *r, char *word)
{
	size_t n = 0;

	shell_skip_joined(r);
	for (size_t i = 0; i < r->len - r->at; i++) {
		char c = r->text[r->at + i];

		if (shell_ends_word(c)) {
			/* A process substitution goes on the word. */
			if ((c == '<' || c == '>') && shell_peek(r, i + 1) == '(')
				n = 0;
			break;
		}
		if (c == '\\' && shell_peek(r, i + 1) == '\n') {
			i++;
			continue;
		}
		if (n == RESERVED_MAX - 1 || strchr("\\'\"$`", c)) {
			n = 0;
			break;
		}
		word[n++] = c;
	}
	word[n] = '\0';
}

int shell_reserved_take(struct shell_reader *r, const char *word)
{
	char found[RESERVED_MAX];
	int e = shell_skip_newlines(r);

	if (e < 0)
		return e;
	shell_reserved_peek(r, found);
	if (strcmp(found, word) != 0)
		return -EBADMSG;
	for (size_t n = strlen(word); n > 0; n--) {
		shell_skip_joined(r);
		r->at++;
	}
	return 0;
}

static bool closes_list(const char *word)
{
	static const char *const words[] = { "then", "do", "done", "fi", "else", "elif", "esac", "}", NULL };

	for (size_t i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static int command_read(struct shell_reader *r)
{
	_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
	char word[RESERVED_MAX], c;
	int e;

	shell_skip_blank(r);
	c = shell_peek(r, 0);
	if (r->at == r->len || c == '\n' || c == ';' || c == '|' || c == ')' || (c == '&' && shell_peek(r, 1) != '>'))
		return 0;
	shell_reserved_peek(r, word);
	if (closes_list(word))
		return 0;
	if (strcmp(word, "!") == 0)
		return -EBADMSG; /* only in front of a whole pipeline */
	e = shell_compound_read(r, word);
	if (e != 0)
		return e;
	/* A redirection comes before any word: shell_simple_read() reads it again. */
	if (!shell_redirect_peek(r)) {
		e = shell_word_read(r, &raw);
		if (e < 0)
			return e;
		if (raw.to == raw.from)
			return -EBADMSG;
	}
	e = shell_simple_read(r, &raw);
	return e < 0 ? e : 1;
}

int shell_command_read(struct shell_reader *r)
{
	int e = shell_enter(r->script);

	if (e < 0)
		return e;
	e = command_read(r);
	shell_leave(r->script);
	return e;
}

/* "time -f %e cmd": bash knows no option but -p there, other shells run the program of that name. */
static bool time_is_program(const struct shell_reader *r)
{
	struct shell_reader next = *r;
	char word[RESERVED_MAX];

	(void)shell_reserved_take(&next, "time");
	shell_skip_blank(&next);
	shell_reserved_peek(&next, word);
	return word[0] == '-' && strcmp(word, "-p") != 0 && strcmp(word, "--") != 0;
}

/* "!" and "time" in front of a pipeline; how many. */
static int prefixes(struct shell_reader *r)
{
	char word[RESERVED_MAX];
	int count = 0;

	for (;;) {
		shell_skip_blank(r);
		shell_reserved_peek(r, word);
		if (strcmp(word, "!") != 0 && (strcmp(word, "time") != 0 || time_is_program(r)))
			return count;
		(void)shell_reserved_take(r, word);
		r->script->n_joints++;
		count++;
		shell_skip_blank(r);
		shell_reserved_peek(r, word);
		if (strcmp(word, "-p") == 0 || strcmp(word, "--") == 0)
			(void)shell_reserved_take(r, word);
	}
}

/* Commands joined by "|": 1, or 0 where none begins. */
static int pipeline(struct shell_reader *r)
{
	bool outer = r->piped;
	int before = prefixes(r);
	int e = shell_command_read(r);

	if (e == 0 && before > 0)
		e = 1; /* "!" alone is one, "time" alone as well */
	while (e > 0) {
		shell_skip_blank(r);
		if (shell_peek(r, 0) != '|' || shell_peek(r, 1) == '|')
			break;
		r->at += shell_peek(r, 1) == '&' ? 2 : 1;
		r->script->n_joints++;
		r->piped = true;
		e = shell_skip_newlines(r);
		if (e == 0)
			e = shell_command_read(r);
		if (e == 0)
			e = -EBADMSG;
	}
	r->piped = outer;
	return e;
}

static int and_or(struct shell_reader *r)
{
	int e = pipeline(r);

	while (e > 0) {
		shell_skip_blank(r);
		if (!shell_take(r, "&&") && !shell_take(r, "||"))
			break;
		r->script->n_joints++;
		e = shell_skip_newlines(r);
		if (e == 0)
			e = pipeline(r);
		if (e == 0)
			e = -EBADMSG;
	}
	return e;
}

int shell_list_read(struct shell_reader *r, bool needed)
{
	int e;

	for (size_t count = 0;; count++) {
		char c, next;

		e = shell_skip_newlines(r);
		if (e == 0)
			e = and_or(r);
		if (e < 0)
			return e;
		if (e == 0)
			return count == 0 && needed ? -EBADMSG : 0;
		if (count > 0)
			r->script->n_joints++;
		shell_skip_blank(r);
		c = shell_peek(r, 0);
		next = shell_peek(r, 1);
		if (c == ';' && next != ';' && next != '&')
			r->at++;
		else if (c == '&' && next != '&')
			r->at++;
		else if (c != '\n')
			return 0;
	}
}

int shell_parse(struct shell_script *script, const char *text, size_t len, const struct shell_via *via, size_t from,
		size_t to)
{
	struct shell_reader r = {
		.script = script,
		.text = text,
		.len = len,
		.via = via,
		.inner = via != NULL || to > 0,
		.from = from,
		.to = to,
	};
	int e;

	r.pending_end = &r.pending;
	if (len > LIMIT_SHELL_TEXT)
		return -E2BIG;
	/* bash drops it with a warning, others end there */
	if (memchr(text, '\0', len))
		return -EBADMSG;
	e = shell_enter(script);
	if (e < 0)
		return e;
	e = shell_list_read(&r, false);
	if (e == 0)
		e = shell_skip_newlines(&r);
	if (e == 0 && r.at != r.len)
		e = -EBADMSG;
	if (e == 0)
		e = shell_heredoc_bodies(&r);
	shell_leave(script);
	return e;
}

void shell_script_done(struct shell_script *script)
{
	arena_free(script->arena);
	*script = (struct shell_script){ .arena = NULL };
}
