#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

bool shell_ends_word(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' ||
	       c == '<' || c == '>';
}

static int single_quoted(struct shell_reader *r, struct shell_raw *raw)
{
	const char *start = r->text + r->at;
	const char *end = memchr(start, '\'', r->len - r->at);
	int e = shell_raw_quotes(raw);

	if (!end)
		return -EBADMSG;
	for (const char *p = start; p < end && e == 0; p++)
		e = shell_raw_add(raw, *p, SHELL_MARK_QUOTED);
	r->at += (size_t)(end - start) + 1;
	return e;
}

int shell_double_quoted_read(struct shell_reader *r, struct shell_raw *raw)
{
	int e = shell_raw_quotes(raw);

	while (e == 0) {
		char c = shell_peek(r, 0), next = shell_peek(r, 1);

		if (r->at == r->len)
			return -EBADMSG;
		if (c == '"') {
			r->at++;
			return 0;
		}
		if (c == '$' || c == '`') {
			e = shell_expansion_read(r, raw, true);
		} else if (c == '\\' && next == '\n') {
			r->at += 2;
		} else if (c == '\\' && next != '\0' && strchr("\\\"$`", next)) {
			r->at += 2;
			e = shell_raw_add(raw, next, SHELL_MARK_QUOTED);
		} else {
			r->at++;
			e = shell_raw_add(raw, c, SHELL_MARK_QUOTED);
		}
	}
	return e;
}

/* One unit of a word: a byte, an escape, a quoted string, an expansion. */
static int unit(struct shell_reader *r, struct shell_raw *raw, char c)
{
	switch (c) {
	case '\\':
		raw->quoted = true;
		if (r->len - r->at < 2) {
			r->at++;
			return shell_raw_add(raw, c, SHELL_MARK_QUOTED);
		}
		r->at += 2;
		return shell_raw_add(raw, r->text[r->at - 1], SHELL_MARK_QUOTED);
	case '\'':
		r->at++;
		return single_quoted(r, raw);
	case '"':
		r->at++;
		return shell_double_quoted_read(r, raw);
	case '$':
	case '`':
		return shell_expansion_read(r, raw, false);
	default:
		r->at++;
		return shell_raw_add(raw, c, SHELL_MARK_PLAIN);
	}
}

int shell_word_read(struct shell_reader *r, struct shell_raw *raw)
{
	int e = 0;

	shell_skip_joined(r);
	raw->from = r->at;
	while (e == 0 && r->at < r->len) {
		char c = shell_peek(r, 0);

		if ((c == '<' || c == '>') && shell_peek(r, 1) == '(') {
			r->at += 2;
			e = shell_process_read(r, raw);
		} else if (shell_ends_word(c)) {
			break;
		} else if (c == '\0') {
			return -EBADMSG; /* bash drops it with a warning, others end there */
		} else {
			e = unit(r, raw, c);
		}
		raw->to = r->at;
		shell_skip_joined(r);
	}
	if (raw->to < raw->from)
		raw->to = raw->from;
	return e;
}
