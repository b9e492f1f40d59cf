#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

int shell_heredoc_begin(struct shell_reader *r, bool strip_tabs, struct shell_heredoc **ret)
{
	_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
	struct shell_heredoc *h;
	struct shell_word word;
	int e;

	shell_skip_blank(r);
	e = shell_word_read(r, &raw);
	if (e < 0)
		return e;
	if (raw.to == raw.from)
		return -EBADMSG;
	/* Nothing is expanded in it: an expansion in a delimiter is the text that it is written as. */
	for (size_t i = 0; i < raw.marks.len; i++)
		if (raw.marks.data[i] == SHELL_MARK_UNKNOWN || raw.marks.data[i] == SHELL_MARK_UNKNOWN_QUOTED ||
		    raw.marks.data[i] == SHELL_MARK_SPLIT)
			return -EBADMSG;
		else if (raw.text.data[i] == '~')
			raw.marks.data[i] = SHELL_MARK_QUOTED;
	e = shell_word_single(r->script, &raw, 0, false, &word);
	if (e < 0)
		return e;
	h = shell_alloc(r->script, sizeof(*h));
	if (!h)
		return -ENOMEM;
	*h = (struct shell_heredoc){
		.delimiter = word.text,
		.delimiter_len = word.len,
		.literal = raw.quoted,
		.strip_tabs = strip_tabs,
		.command = SIZE_MAX,
	};
	*r->pending_end = h;
	r->pending_end = &h->next;
	*ret = h;
	return 0;
}

/* The lines up to the delimiter, or to the end of the text, as bash takes it. Past them. */
static int lines_read(struct shell_reader *r, const struct shell_heredoc *h, struct buffer *out)
{
	int e = buffer_reserve(out, 1);

	while (e == 0 && r->at < r->len) {
		const char *line = r->text + r->at, *end = memchr(line, '\n', r->len - r->at);
		size_t len = end ? (size_t)(end - line) : r->len - r->at;

		r->at += len + (end ? 1 : 0);
		while (h->strip_tabs && len > 0 && *line == '\t') {
			line++;
			len--;
		}
		if (len == h->delimiter_len && memcmp(line, h->delimiter, len) == 0)
			return 0;
		e = buffer_append(out, line, len + (end ? 1 : 0));
	}
	return e;
}

/* Runs what stands in the body: as between double quotes, but that those are no quotes here. */
static int body_expand(struct shell_reader *outer, const struct buffer *body, struct shell_raw *raw)
{
	struct shell_reader r = {
		.script = outer->script,
		.text = body->data,
		.len = body->len,
		.via = outer->via,
		.inner = true,
		.from = outer->inner ? outer->from : outer->at - body->len,
		.to = outer->inner ? outer->to : outer->at,
	};
	int e = 0;

	r.pending_end = &r.pending;
	if (outer->at < body->len && !outer->inner)
		r.from = 0;
	while (e == 0 && r.at < r.len) {
		char c = r.text[r.at], next = shell_peek(&r, 1);

		if (c == '$' || c == '`') {
			e = shell_expansion_read(&r, raw, true);
		} else if (c == '\\' && next == '\n') {
			r.at += 2;
		} else if (c == '\\' && (next == '\\' || next == '$' || next == '`')) {
			r.at += 2;
			e = shell_raw_add(raw, next, SHELL_MARK_QUOTED);
		} else {
			r.at++;
			e = shell_raw_add(raw, c, SHELL_MARK_QUOTED);
		}
	}
	return e;
}

static int body_read(struct shell_reader *r, const struct shell_heredoc *h)
{
	_cleanup_buffer_ struct buffer lines = BUFFER_INIT(LIMIT_SHELL_TEXT);
	struct shell_word body = { .quoted = true };
	int e = lines_read(r, h, &lines);

	if (e < 0)
		return e;
	r->script->n_steps += lines.len / 64; /* with a reader of its own, again where an attempt is undone */
	if (h->literal) {
		body.text = shell_copy(r->script, lines.data, lines.len);
		body.len = lines.len;
		if (!body.text)
			return -ENOMEM;
	} else {
		_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;

		e = shell_enter(r->script);
		if (e < 0)
			return e;
		e = body_expand(r, &lines, &raw);
		shell_leave(r->script);
		if (e == 0)
			e = shell_word_single(r->script, &raw, 0, false, &body);
		if (e < 0)
			return e;
	}
	if (h->command < r->script->n_commands)
		r->script->commands[h->command].input = body;
	return 0;
}

int shell_heredoc_bodies(struct shell_reader *r)
{
	while (r->pending) {
		struct shell_heredoc *h = r->pending;
		int e;

		r->pending = h->next;
		if (!r->pending)
			r->pending_end = &r->pending;
		e = body_read(r, h);
		if (e < 0)
			return e;
	}
	return 0;
}
