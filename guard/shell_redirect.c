#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

/* Longest first: the first that fits is the one. */
static const struct operator
{
	const char *token;
	bool input; /* of descriptor 0 where no other is named */
}
operators[] = {
	{ "&>>", false }, { "&>", false }, { "<<<", true }, { "<<-", true }, { "<<", true },  { "<&", true },
	{ "<>", true },   { "<", true },   { ">>", false }, { ">&", false }, { ">|", false }, { ">", false },
};

/* "2>" and "{fd}>": past what names the descriptor, *ret_zero: it is descriptor 0 or none was named. False: no
 * redirection. */
static bool descriptor(struct shell_reader *r, bool *ret_zero)
{
	size_t n = 0;

	*ret_zero = true;
	if (shell_peek(r, 0) == '{') {
		for (n = 1; isalnum((unsigned char)shell_peek(r, n)) || shell_peek(r, n) == '_';)
			n++;
		if (n == 1 || isdigit((unsigned char)shell_peek(r, 1)) || shell_peek(r, n) != '}')
			return false;
		n++;
		*ret_zero = false;
	} else {
		for (; isdigit((unsigned char)shell_peek(r, n)); n++)
			*ret_zero = *ret_zero && shell_peek(r, n) == '0';
	}
	if (n > 0 && shell_peek(r, n) != '<' && shell_peek(r, n) != '>')
		return false;
	if ((shell_peek(r, n) == '<' || shell_peek(r, n) == '>') && shell_peek(r, n + 1) == '(')
		return false; /* a process substitution is a word */
	r->at += n;
	return true;
}

static int here_string(struct shell_script *script, const struct shell_raw *raw, struct shell_redirects *redirects)
{
	int e = shell_word_single(script, raw, 0, false, &redirects->input);
	char *text;

	if (e < 0 || !redirects->input.text)
		return e;
	text = shell_alloc(script, redirects->input.len + 2);
	if (!text)
		return -ENOMEM;
	memcpy(text, redirects->input.text, redirects->input.len);
	memcpy(text + redirects->input.len, "\n", 2);
	redirects->input.text = text;
	redirects->input.len++;
	return 0;
}

static int target(struct shell_reader *r, const struct operator* o, bool zero, struct shell_redirects *redirects)
{
	_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
	int e;

	shell_skip_blank(r);
	e = shell_word_read(r, &raw);
	if (e < 0)
		return e;
	if (raw.from == raw.to)
		return -EBADMSG;
	if (!o->input || !zero)
		return 0;
	redirects->heredoc = NULL;
	redirects->kind = SHELL_INPUT_FILE;
	redirects->input = (struct shell_word){ .text = NULL };
	if (strcmp(o->token, "<<<") != 0)
		return 0;
	redirects->kind = SHELL_INPUT_TEXT;
	return here_string(r->script, &raw, redirects);
}

int shell_redirect_read(struct shell_reader *r, struct shell_redirects *redirects)
{
	size_t start = r->at;
	bool zero;
	int e;

	if (!descriptor(r, &zero))
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const struct operator* o = & operators[i];

		if (o->token[0] == '&' && r->at != start)
			continue;
		if (!shell_take(r, o->token))
			continue;
		redirects->count++;
		if (strcmp(o->token, "<<") == 0 || strcmp(o->token, "<<-") == 0) {
			struct shell_heredoc *h;

			e = shell_heredoc_begin(r, o->token[2] == '-', &h);
			if (e == 0 && zero) {
				redirects->heredoc = h;
				redirects->kind = SHELL_INPUT_TEXT;
				redirects->input = (struct shell_word){ .text = NULL };
			}
		} else {
			e = target(r, o, zero, redirects);
		}
		return e < 0 ? e : 1;
	}
	r->at = start;
	return 0;
}

bool shell_redirect_peek(struct shell_reader *r)
{
	size_t start = r->at;
	bool zero, found = descriptor(r, &zero);
	char c = shell_peek(r, 0);

	found = found && (c == '<' || c == '>' || (c == '&' && shell_peek(r, 1) == '>' && r->at == start));
	r->at = start;
	return found;
}
