#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

/* What runs later, or gets its input from somewhere that is not looked at: nothing is known of its input. */
static void input_unknown(struct shell_script *script, size_t first)
{
	for (size_t i = first; i < script->n_commands; i++)
		if (script->commands[i].input_kind == SHELL_INPUT_INHERITED)
			script->commands[i].input_kind = SHELL_INPUT_FILE;
}

static int list_then(struct shell_reader *r, const char *word)
{
	int e = shell_list_read(r, true);

	return e < 0 ? e : shell_reserved_take(r, word);
}

static int read_if(struct shell_reader *r)
{
	char word[16];
	int e;

	for (;;) {
		e = list_then(r, "then");
		if (e == 0)
			e = shell_list_read(r, true);
		if (e < 0)
			return e;
		shell_reserved_peek(r, word);
		if (strcmp(word, "elif") != 0)
			break;
		(void)shell_reserved_take(r, word);
	}
	if (strcmp(word, "else") == 0) {
		(void)shell_reserved_take(r, word);
		e = shell_list_read(r, true);
	}
	return e < 0 ? e : shell_reserved_take(r, "fi");
}

static int read_while(struct shell_reader *r)
{
	int e = list_then(r, "do");

	return e < 0 ? e : list_then(r, "done");
}

static int read_group(struct shell_reader *r)
{
	return list_then(r, "}");
}

/* "do ... done", or "{ ... }" */
static int loop_body(struct shell_reader *r)
{
	char word[16];
	int e = shell_skip_newlines(r);

	if (e < 0)
		return e;
	shell_reserved_peek(r, word);
	if (strcmp(word, "{") == 0) {
		(void)shell_reserved_take(r, word);
		return read_group(r);
	}
	e = shell_reserved_take(r, "do");
	return e < 0 ? e : list_then(r, "done");
}

/* Words up to the end of the line or ";". */
static int words_skip(struct shell_reader *r)
{
	for (;;) {
		_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
		int e;

		shell_skip_blank(r);
		e = shell_word_read(r, &raw);
		if (e < 0 || raw.from == raw.to)
			return e;
	}
}

static int read_for(struct shell_reader *r)
{
	_cleanup_shell_raw_ struct shell_raw name = SHELL_RAW_INIT;
	char word[16];
	int e;

	shell_skip_blank(r);
	if (shell_take(r, "((")) {
		e = shell_arithmetic_read(r, "))");
	} else {
		e = shell_word_read(r, &name);
		if (e == 0 && name.from == name.to)
			e = -EBADMSG;
		if (e == 0)
			e = shell_skip_newlines(r);
		if (e < 0)
			return e;
		if (name.text.len == 3 && memcmp(name.text.data, "IFS", 3) == 0)
			r->script->ifs_assigned = true;
		shell_reserved_peek(r, word);
		if (strcmp(word, "in") == 0) {
			(void)shell_reserved_take(r, word);
			e = words_skip(r);
		}
	}
	if (e < 0)
		return e;
	shell_skip_blank(r);
	if (shell_peek(r, 0) == ';')
		r->at++;
	return loop_body(r);
}

/* "(a|b)" of a case: past the closing parenthesis. */
static int patterns(struct shell_reader *r)
{
	(void)shell_take(r, "(");
	for (;;) {
		_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
		int e;

		shell_skip_blank(r);
		e = shell_word_read(r, &raw);
		if (e < 0)
			return e;
		if (raw.from == raw.to)
			return -EBADMSG;
		shell_skip_blank(r);
		if (shell_take(r, ")"))
			return 0;
		if (!shell_take(r, "|"))
			return -EBADMSG;
	}
}

static int read_case(struct shell_reader *r)
{
	_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
	char word[16];
	int e;

	shell_skip_blank(r);
	e = shell_word_read(r, &raw);
	if (e == 0)
		e = raw.from == raw.to ? -EBADMSG : shell_reserved_take(r, "in");
	while (e == 0) {
		e = shell_skip_newlines(r);
		if (e < 0)
			return e;
		shell_reserved_peek(r, word);
		if (strcmp(word, "esac") == 0)
			return shell_reserved_take(r, word);
		e = patterns(r);
		if (e == 0)
			e = shell_list_read(r, false);
		if (e == 0 && !shell_take(r, ";;&") && !shell_take(r, ";;") && !shell_take(r, ";&")) {
			return shell_reserved_take(r, "esac");
		}
	}
	return e;
}

/* "[[ ... ]]": it runs nothing but the substitutions in it. */
static int read_test(struct shell_reader *r)
{
	for (;;) {
		_cleanup_shell_raw_ struct shell_raw raw = SHELL_RAW_INIT;
		int e = shell_skip_newlines(r);

		if (e == 0)
			e = shell_word_read(r, &raw);
		if (e < 0)
			return e;
		if (raw.from == raw.to) {
			if (r->at == r->len || shell_peek(r, 0) == ';')
				return -EBADMSG;
			r->at++; /* an operator, or part of an expression after =~ */
		} else if (!raw.quoted && raw.text.len == 2 && memcmp(raw.text.data, "]]", 2) == 0) {
			return 0;
		}
	}
}

int shell_function_body(struct shell_reader *r)
{
	size_t first = r->script->n_commands;
	char word[16];
	int e = shell_skip_newlines(r);

	if (e < 0)
		return e;
	shell_reserved_peek(r, word);
	e = shell_enter(r->script);
	if (e < 0)
		return e;
	e = shell_compound_read(r, word);
	shell_leave(r->script);
	input_unknown(r->script, first);
	return e == 0 ? -EBADMSG : e < 0 ? e : 0;
}

static int read_function(struct shell_reader *r)
{
	_cleanup_shell_raw_ struct shell_raw name = SHELL_RAW_INIT;
	int e;

	shell_skip_blank(r);
	e = shell_word_read(r, &name);
	if (e < 0 || name.from == name.to)
		return e < 0 ? e : -EBADMSG;
	shell_skip_blank(r);
	if (shell_take(r, "(")) {
		shell_skip_blank(r);
		if (!shell_take(r, ")"))
			return -EBADMSG;
	}
	return shell_function_body(r);
}

/* "coproc [NAME] command": a name only before a compound command. */
static int read_coproc(struct shell_reader *r)
{
	char word[16];
	size_t start;
	int e;

	shell_skip_blank(r);
	start = r->at;
	shell_reserved_peek(r, word);
	if (word[0]) {
		(void)shell_reserved_take(r, word);
		shell_skip_blank(r);
		if (shell_peek(r, 0) != '(' && shell_peek(r, 0) != '{')
			r->at = start;
	}
	e = shell_command_read(r);
	return e == 0 ? -EBADMSG : e < 0 ? e : 0;
}

static int read_parenthesis(struct shell_reader *r)
{
	int e;

	r->at++;
	e = shell_arithmetic_try(r);
	if (e != 0)
		return e < 0 ? e : 0;
	e = shell_list_read(r, true);
	if (e < 0)
		return e;
	return shell_take(r, ")") ? 0 : -EBADMSG;
}

static const struct {
	const char *word;
	int (*read)(struct shell_reader *r);
} compounds[] = {
	{ "if", read_if },         { "while", read_while }, { "until", read_while },
	{ "for", read_for },       { "select", read_for },  { "case", read_case },
	{ "{", read_group },       { "[[", read_test },     { "function", read_function },
	{ "coproc", read_coproc },
};

int shell_compound_read(struct shell_reader *r, const char *word)
{
	struct shell_redirects redirects = { .count = 0 };
	size_t first = r->script->n_commands;
	int e = -ENOENT;

	if (shell_peek(r, 0) == '(') {
		e = read_parenthesis(r);
	} else {
		for (size_t i = 0; i < sizeof(compounds) / sizeof(compounds[0]); i++) {
			if (strcmp(word, compounds[i].word) != 0)
				continue;
			(void)shell_reserved_take(r, word);
			e = compounds[i].read(r);
			break;
		}
	}
	if (e == -ENOENT)
		return 0;
	r->script->n_joints++;
	while (e == 0) {
		shell_skip_blank(r);
		e = shell_redirect_read(r, &redirects);
		if (e == 0)
			break;
		e = e < 0 ? e : 0;
	}
	if (redirects.kind != SHELL_INPUT_INHERITED)
		input_unknown(r->script, first);
	return e < 0 ? e : 1;
}
