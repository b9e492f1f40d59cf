#include "guard/shell_reader.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"

void shell_raw_done(struct shell_raw *raw)
{
	buffer_done(&raw->text);
	buffer_done(&raw->marks);
}

int shell_raw_add(struct shell_raw *raw, char byte, enum shell_mark mark)
{
	int r = buffer_append(&raw->text, &byte, 1);

	return r < 0 ? r : buffer_append_u8(&raw->marks, mark);
}

int shell_raw_quotes(struct shell_raw *raw)
{
	raw->quoted = true;
	return shell_raw_add(raw, '\0', SHELL_MARK_NOTHING);
}

void *shell_alloc(struct shell_script *script, size_t size)
{
	if (size > LIMIT_SHELL_MEMORY - script->used)
		return NULL;
	script->used += size;
	return arena_alloc(&script->arena, size);
}

char *shell_copy(struct shell_script *script, const char *data, size_t len)
{
	if (len >= LIMIT_SHELL_MEMORY - script->used)
		return NULL;
	script->used += len + 1;
	return arena_copy(&script->arena, data, len);
}

char shell_peek(const struct shell_reader *r, size_t n)
{
	return n < r->len - r->at ? r->text[r->at + n] : '\0';
}

void shell_skip_joined(struct shell_reader *r)
{
	while (shell_peek(r, 0) == '\\' && shell_peek(r, 1) == '\n')
		r->at += 2;
}

void shell_skip_blank(struct shell_reader *r)
{
	for (;;) {
		char c;

		shell_skip_joined(r);
		c = shell_peek(r, 0);
		if (c == ' ' || c == '\t') {
			r->at++;
		} else if (c == '#') {
			const char *end = memchr(r->text + r->at, '\n', r->len - r->at);

			r->at = end ? (size_t)(end - r->text) : r->len;
			return;
		} else {
			return;
		}
	}
}

int shell_skip_newlines(struct shell_reader *r)
{
	for (;;) {
		shell_skip_blank(r);
		if (shell_peek(r, 0) != '\n')
			return 0;
		r->at++;
		if (r->pending) {
			int e = shell_heredoc_bodies(r);

			if (e < 0)
				return e;
		}
	}
}

bool shell_take(struct shell_reader *r, const char *token)
{
	size_t n = strlen(token);

	shell_skip_joined(r);
	if (n > r->len - r->at || memcmp(r->text + r->at, token, n) != 0)
		return false;
	r->at += n;
	return true;
}

struct shell_attempt shell_attempt_begin(const struct shell_reader *r)
{
	const struct shell_script *s = r->script;

	return (struct shell_attempt){ r->at, s->n_commands, s->n_joints, s->ifs_assigned, r->pending, r->pending_end };
}

void shell_attempt_undo(struct shell_reader *r, const struct shell_attempt *a)
{
	r->at = a->at;
	r->script->n_commands = a->n_commands;
	r->script->n_joints = a->n_joints;
	r->script->ifs_assigned = a->ifs_assigned;
	r->pending = a->pending;
	r->pending_end = a->pending_end;
	*r->pending_end = NULL;
}

int shell_enter(struct shell_script *script)
{
	if (script->depth >= LIMIT_SHELL_DEPTH || script->n_steps >= LIMIT_SHELL_STEPS)
		return -E2BIG;
	script->n_steps++;
	script->depth++;
	return 0;
}

void shell_leave(struct shell_script *script)
{
	script->depth--;
}
