#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

struct simple {
	struct shell_words words;
	struct shell_assignment *assignments;
	size_t n_assignments, size_assignments;
	struct shell_redirects redirects;
	size_t from;
};

/* Where the value of "name=", "name+=" or "name[i]=" begins; 0: no assignment. *ret_name: bytes of the name. */
static size_t assignment_value(const struct shell_raw *raw, size_t *ret_name)
{
	const char *text = raw->text.data, *marks = raw->marks.data;
	size_t len = raw->text.len, n = 0;

	if (len == 0 || isdigit((unsigned char)text[0]))
		return 0;
	for (; n < len && marks[n] == SHELL_MARK_PLAIN && (isalnum((unsigned char)text[n]) || text[n] == '_'); n++)
		;
	*ret_name = n;
	if (n == 0 || n == len)
		return 0;
	if (text[n] == '[' && marks[n] == SHELL_MARK_PLAIN) {
		for (; n < len && !(text[n] == ']' && marks[n] == SHELL_MARK_PLAIN); n++)
			;
		n++;
	}
	if (n < len && text[n] == '+' && marks[n] == SHELL_MARK_PLAIN)
		n++;
	return n < len && text[n] == '=' && marks[n] == SHELL_MARK_PLAIN ? n + 1 : 0;
}

/* "(a b c)" after "name=" */
static int array_read(struct shell_reader *r)
{
	r->at++;
	for (;;) {
		_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
		int e = shell_skip_newlines(r);

		if (e == 0)
			e = shell_word_read(r, &raw);
		if (e < 0)
			return e;
		if (raw.to > raw.from)
			continue;
		if (shell_peek(r, 0) != ')')
			return -EBADMSG;
		r->at++;
		return 0;
	}
}

static int assignment_add(struct shell_script *script, struct simple *s, const struct shell_raw *raw, size_t name,
			  size_t value, bool array)
{
	struct shell_assignment *a;

	if (s->n_assignments == s->size_assignments) {
		size_t size = s->size_assignments ? s->size_assignments * 2 : 4;

		a = shell_alloc(script, size * sizeof(*a));
		if (!a)
			return -ENOMEM;
		if (s->n_assignments > 0)
			memcpy(a, s->assignments, s->n_assignments * sizeof(*a));
		s->assignments = a;
		s->size_assignments = size;
	}
	a = &s->assignments[s->n_assignments++];
	*a = (struct shell_assignment){ .name = shell_copy(script, raw->text.data, name) };
	if (!a->name)
		return -ENOMEM;
	script->ifs_assigned = script->ifs_assigned || strcmp(a->name, "IFS") == 0;
	/* Only a plain "name=value" is known: an addition or an element says nothing of the whole. */
	if (array || value != name + 1)
		return 0;
	return shell_word_single(script, raw, value, true, &a->value);
}

/* Builtins that take arrays as assignments do. */
static bool declares(const struct simple *s)
{
	static const char *const names[] = { "declare", "typeset", "local", "export", "readonly", NULL };

	for (size_t i = 0; s->words.count > 0 && s->words.items[0].text && names[i]; i++)
		if (strcmp(s->words.items[0].text, names[i]) == 0)
			return true;
	return false;
}

static int word_add(struct shell_reader *r, struct simple *s, const struct shell_raw *raw)
{
	size_t name = 0, value = assignment_value(raw, &name), first = s->words.count;
	bool in_front = s->words.count == 0, array = false;
	int e;

	if (value > 0 && value == raw->text.len && shell_peek(r, 0) == '(' && (in_front || declares(s))) {
		array = true;
		e = array_read(r);
		if (e < 0)
			return e;
	}
	if (value > 0 && in_front)
		return assignment_add(r->script, s, raw, name, value, array);
	e = shell_word_expand(r, raw, &s->words);
	for (size_t i = first; i < s->words.count; i++)
		if (s->words.items[i].text && strstr(s->words.items[i].text, "IFS"))
			r->script->ifs_assigned = true; /* read IFS, export IFS=, printf -v IFS */
	if (in_front && s->words.count > 0 && s->words.items[0].glob) {
		s->words.items[0].text = NULL; /* the name of some file */
		s->words.items[0].splits = true;
	}
	return e;
}

int shell_command_add(struct shell_script *script, const struct shell_command *c)
{
	if (script->n_commands == script->size_commands) {
		size_t size = script->size_commands ? script->size_commands * 2 : 16;
		struct shell_command *commands = shell_alloc(script, size * sizeof(*commands));

		if (!commands)
			return -ENOMEM;
		if (script->n_commands > 0)
			memcpy(commands, script->commands, script->n_commands * sizeof(*commands));
		script->commands = commands;
		script->size_commands = size;
	}
	script->commands[script->n_commands++] = *c;
	return 0;
}

static int command_add(struct shell_reader *r, const struct simple *s)
{
	struct shell_command c = {
		.words = s->words.items,
		.n_words = s->words.count,
		.assignments = s->assignments,
		.n_assignments = s->n_assignments,
		.input_kind = s->redirects.kind,
		.input = s->redirects.input,
		.via = r->via,
		.from = r->inner ? r->from : s->from,
		.to = r->inner ? r->to : r->at,
	};

	if (c.input_kind == SHELL_INPUT_INHERITED && r->piped)
		c.input_kind = SHELL_INPUT_PIPE;
	if (s->redirects.heredoc)
		s->redirects.heredoc->command = r->script->n_commands;
	return shell_command_add(r->script, &c);
}

/* "name ()" and its body; *ret false: it was no function. */
static int function_read(struct shell_reader *r, const struct shell_raw *raw, bool *ret)
{
	size_t start = r->at, name;

	*ret = false;
	shell_skip_blank(r);
	if (raw->to == raw->from || shell_peek(r, 0) != '(' || assignment_value(raw, &name) > 0) {
		r->at = start;
		return 0;
	}
	r->at++;
	shell_skip_blank(r);
	if (!shell_take(r, ")"))
		return -EBADMSG;
	*ret = true;
	return shell_function_body(r);
}

int shell_simple_read(struct shell_reader *r, struct shell_raw *raw)
{
	struct simple s = { .from = raw->to > raw->from ? raw->from : r->at };
	size_t end = r->at;
	bool function;
	int e = function_read(r, raw, &function);

	if (e < 0 || function)
		return e;
	if (raw->to > raw->from)
		e = word_add(r, &s, raw);
	while (e >= 0) {
		_cleanup_shell_raw_ struct shell_raw next = SHELL_RAW_INIT;

		end = r->at;
		shell_skip_blank(r);
		e = shell_redirect_read(r, &s.redirects);
		if (e != 0)
			continue;
		e = shell_word_read(r, &next);
		if (e < 0 || next.to == next.from)
			break;
		e = word_add(r, &s, &next);
	}
	if (e < 0)
		return e;
	r->at = end;
	return command_add(r, &s);
}
