#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

static int unknown(struct shell_raw *raw, bool quoted)
{
	return shell_raw_add(raw, '?', quoted ? SHELL_MARK_UNKNOWN_QUOTED : SHELL_MARK_UNKNOWN);
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * "$(cat <<'EOF' ...)" is how agents pass texts of several lines. It is what the here-document says, without newlines
 * at its end, if that command is all there is.
 */
static const struct shell_word *read_by_cat(const struct shell_script *script, size_t first, size_t joints)
{
	const struct shell_command *c;

	if (script->n_commands != first + 1 || script->n_joints != joints)
		return NULL;
	c = &script->commands[first];
	if (c->n_words != 1 || c->n_assignments || !c->words[0].text || strcmp(c->words[0].text, "cat") != 0)
		return NULL;
	return c->input_kind == SHELL_INPUT_TEXT && c->input.text ? &c->input : NULL;
}

static int command_substitution(struct shell_reader *r, struct shell_raw *raw, bool quoted)
{
	size_t first = r->script->n_commands, joints = r->script->n_joints;
	const struct shell_word *known;
	bool piped = r->piped;
	int e;

	r->piped = false;
	e = shell_list_read(r, false);
	r->piped = piped;
	if (e < 0)
		return e;
	if (shell_peek(r, 0) != ')')
		return -EBADMSG;
	r->at++;
	known = quoted ? read_by_cat(r->script, first, joints) : NULL;
	if (!known)
		return unknown(raw, quoted);
	for (size_t i = 0, n = known->len; i < n && e == 0; i++) {
		while (n > i && known->text[n - 1] == '\n')
			n--;
		if (i < n)
			e = shell_raw_add(raw, known->text[i], SHELL_MARK_QUOTED);
	}
	return e;
}

static int single_quoted_skip(struct shell_reader *r)
{
	const char *end = memchr(r->text + r->at + 1, '\'', r->len - r->at - 1);

	if (!end)
		return -EBADMSG;
	r->at = (size_t)(end - r->text) + 1;
	return 0;
}

int shell_arithmetic_read(struct shell_reader *r, const char *end)
{
	char open = end[0] == ']' ? '[' : '(', close = end[0];
	_cleanup_shell_raw_ struct shell_raw ignored = SHELL_RAW_INIT;
	size_t depth = 0, n = strlen(end);
	int e = 0;

	while (e == 0) {
		char c = shell_peek(r, 0);

		if (r->at == r->len)
			return -EBADMSG;
		if (depth == 0 && n <= r->len - r->at && memcmp(r->text + r->at, end, n) == 0) {
			r->at += n;
			return 0;
		}
		if (c == close && depth-- == 0)
			return -EBADMSG;
		if (c == open)
			depth++;
		if (c == '\\' && r->len - r->at > 1) {
			r->at += 2;
		} else if (c == '$' || c == '`') {
			e = shell_expansion_read(r, &ignored, true);
		} else if (c == '"') {
			r->at++;
			e = shell_double_quoted_read(r, &ignored);
		} else if (c == '\'') {
			e = single_quoted_skip(r);
		} else {
			r->at++;
		}
	}
	return e;
}

int shell_arithmetic_try(struct shell_reader *r)
{
	struct shell_attempt a = shell_attempt_begin(r);
	size_t byte = r->at / 8, bit = 1U << r->at % 8;
	int e;

	if (shell_peek(r, 0) != '(')
		return 0;
	if (!r->no_arithmetic) {
		r->no_arithmetic = shell_alloc(r->script, r->len / 8 + 1);
		if (!r->no_arithmetic)
			return -ENOMEM;
		memset(r->no_arithmetic, 0, r->len / 8 + 1);
	}
	if (r->no_arithmetic[byte] & bit)
		return 0;
	r->at++;
	e = shell_arithmetic_read(r, "))");
	if (e != -EBADMSG)
		return e < 0 ? e : 1;
	/* It is read again: an attempt counts by its length, or many that fail late would take for ever. */
	r->script->n_steps += (r->at - a.at) / 64;
	shell_attempt_undo(r, &a);
	r->no_arithmetic[byte] = (unsigned char)(r->no_arithmetic[byte] | bit);
	return 0;
}

/* After "$(" */
static int parenthesis(struct shell_reader *r, struct shell_raw *raw, bool quoted)
{
	int e = shell_enter(r->script);

	if (e < 0)
		return e;
	e = shell_arithmetic_try(r);
	if (e > 0)
		e = unknown(raw, quoted);
	else if (e == 0)
		e = command_substitution(r, raw, quoted);
	shell_leave(r->script);
	return e;
}

int shell_process_read(struct shell_reader *r, struct shell_raw *raw)
{
	int e = shell_enter(r->script);

	if (e < 0)
		return e;
	/* A path: it stays one word. */
	e = command_substitution(r, raw, false);
	shell_leave(r->script);
	if (e == 0)
		raw->marks.data[raw->marks.len - 1] = SHELL_MARK_UNKNOWN_QUOTED;
	return e;
}

/* The text between backticks is a text of its own, in which a backslash quotes $, ` and itself ("too between double
 * quotes). */
static int backticks(struct shell_reader *r, struct shell_raw *raw, bool quoted)
{
	_cleanup_buffer_ struct buffer inner = BUFFER_INIT(LIMIT_SHELL_TEXT);
	size_t from = r->at;
	int e = 0;

	r->at++;
	while (e == 0 && shell_peek(r, 0) != '`') {
		char c = shell_peek(r, 0), next = shell_peek(r, 1);

		if (r->at == r->len)
			return -EBADMSG;
		if (c == '\\' && next != '\0' && strchr(quoted ? "\\`$\"" : "\\`$", next)) {
			c = next;
			r->at++;
		}
		r->at++;
		e = buffer_append(&inner, &c, 1);
	}
	if (e < 0)
		return e;
	r->at++;
	e = shell_enter(r->script);
	if (e < 0)
		return e;
	e = shell_parse(r->script, inner.data ? inner.data : "", inner.len, r->via, r->inner ? r->from : from,
			r->inner ? r->to : r->at);
	shell_leave(r->script);
	return e < 0 ? e : unknown(raw, quoted);
}

/* The word of ${name:-word}: quotes, expansions and substitutions in it count; its value does not. */
static int parameter_word(struct shell_reader *r, bool quoted)
{
	_cleanup_shell_raw_ struct shell_raw ignored = SHELL_RAW_INIT;
	int e = 0;

	while (e == 0) {
		char c = shell_peek(r, 0);

		if (r->at == r->len)
			return -EBADMSG;
		if (c == '}') {
			r->at++;
			return 0;
		}
		if (c == '\\' && r->len - r->at > 1) {
			r->at += 2;
		} else if (c == '\'' && !quoted) {
			e = single_quoted_skip(r);
		} else if (c == '"') {
			r->at++;
			e = shell_double_quoted_read(r, &ignored);
		} else if (c == '$' || c == '`') {
			e = shell_expansion_read(r, &ignored, quoted);
		} else {
			r->at++;
		}
	}
	return e;
}

/* After "${" */
static int parameter(struct shell_reader *r, struct shell_raw *raw, bool quoted)
{
	size_t start = r->at;
	int e;

	if (shell_peek(r, 0) == '}')
		return -EBADMSG;
	e = shell_enter(r->script);
	if (e < 0)
		return e;
	e = parameter_word(r, quoted);
	shell_leave(r->script);
	if (e < 0)
		return e;
	if (!quoted && r->at - start == 4 && memcmp(r->text + start, "IFS", 3) == 0 && !r->script->ifs_assigned)
		return shell_raw_add(raw, ' ', SHELL_MARK_SPLIT);
	return unknown(raw, quoted);
}

/* After "$'": what the escape after a backslash means. *ret -1: nothing (then it stands for itself, with its
 * backslash). */
static void escape(struct shell_reader *r, int *ret)
{
	static const char letters[] = "abeEfnrtv\\'\"?", values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	const char *found;
	unsigned value = 0;
	char c = shell_peek(r, 0);
	int n = 0;

	*ret = -1;
	found = c ? strchr(letters, c) : NULL;
	if (found) {
		r->at++;
		*ret = (unsigned char)values[found - letters];
	} else if (c >= '0' && c <= '7') {
		for (; n < 3 && shell_peek(r, 0) >= '0' && shell_peek(r, 0) <= '7'; n++, r->at++)
			value = value * 8 + (unsigned)(shell_peek(r, 0) - '0');
		*ret = (int)(value & 0xff);
	} else if (c == 'x' && isxdigit((unsigned char)shell_peek(r, 1))) {
		for (r->at++; n < 2 && isxdigit((unsigned char)shell_peek(r, 0)); n++, r->at++) {
			char d = (char)tolower((unsigned char)shell_peek(r, 0));

			value = value * 16 + (unsigned)(d <= '9' ? d - '0' : d - 'a' + 10);
		}
		*ret = (int)value;
	} else if (c == 'c' && shell_peek(r, 1)) {
		*ret = shell_peek(r, 1) & 0x1f;
		r->at += 2;
	}
}

/* \uHHHH and \UHHHHHHHH, as UTF-8. False: not one. */
static bool code_point(struct shell_reader *r, uint32_t *ret)
{
	char c = shell_peek(r, 0);
	int most = c == 'u' ? 4 : 8, n = 0;

	if ((c != 'u' && c != 'U') || !isxdigit((unsigned char)shell_peek(r, 1)))
		return false;
	*ret = 0;
	for (r->at++; n < most && isxdigit((unsigned char)shell_peek(r, 0)); n++, r->at++) {
		char d = (char)tolower((unsigned char)shell_peek(r, 0));

		*ret = *ret * 16 + (unsigned)(d <= '9' ? d - '0' : d - 'a' + 10);
	}
	return true;
}

static int add_utf8(struct shell_raw *raw, uint32_t c)
{
	char bytes[4];
	int n, e = 0;

	if (c < 0x80) {
		bytes[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		n = 3;
	} else {
		bytes[0] = (char)(0xf0 | (c >> 18 & 7));
		n = 4;
	}
	for (int i = 1; i < n; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	for (int i = 0; i < n && e == 0; i++)
		e = shell_raw_add(raw, bytes[i], SHELL_MARK_QUOTED);
	return e;
}

/* After "$'" */
static int ansi_quoted(struct shell_reader *r, struct shell_raw *raw)
{
	bool cut = false; /* bash ends the string at an escaped NUL */
	int e = shell_raw_quotes(raw);

	while (e == 0) {
		char c = shell_peek(r, 0);
		uint32_t point;
		int value;

		if (r->at == r->len)
			return -EBADMSG;
		r->at++;
		if (c == '\'')
			return 0;
		if (c != '\\' || r->at == r->len) {
			e = cut ? 0 : shell_raw_add(raw, c, SHELL_MARK_QUOTED);
		} else if (code_point(r, &point)) {
			cut = cut || point == 0;
			e = cut ? 0 : add_utf8(raw, point);
		} else {
			escape(r, &value);
			cut = cut || value == 0;
			e = cut ? 0 : shell_raw_add(raw, value < 0 ? c : (char)value, SHELL_MARK_QUOTED);
		}
	}
	return e;
}

/* After "$", where a name, a digit or a special parameter follows. */
static int variable(struct shell_reader *r, struct shell_raw *raw, bool quoted)
{
	size_t start = r->at;
	char c = shell_peek(r, 0);

	if (isalpha((unsigned char)c) || c == '_') {
		while (is_name(shell_peek(r, 0)))
			r->at++;
		if (!quoted && !r->script->ifs_assigned && r->at - start == 3 && memcmp(r->text + start, "IFS", 3) == 0)
			return shell_raw_add(raw, ' ', SHELL_MARK_SPLIT);
		return unknown(raw, quoted);
	}
	if (c != '\0' && (isdigit((unsigned char)c) || strchr("@*#?-$!", c))) {
		r->at++;
		/* "$@" is as many words as there are parameters. */
		return unknown(raw, quoted && c != '@');
	}
	return shell_raw_add(raw, '$', quoted ? SHELL_MARK_QUOTED : SHELL_MARK_PLAIN);
}

int shell_expansion_read(struct shell_reader *r, struct shell_raw *raw, bool quoted)
{
	if (shell_peek(r, 0) == '`')
		return backticks(r, raw, quoted);
	r->at++;
	shell_skip_joined(r);
	switch (shell_peek(r, 0)) {
	case '(':
		r->at++;
		return parenthesis(r, raw, quoted);
	case '{':
		r->at++;
		return parameter(r, raw, quoted);
	case '[': {
		int e = shell_enter(r->script);

		if (e < 0)
			return e;
		r->at++;
		e = shell_arithmetic_read(r, "]");
		shell_leave(r->script);
		return e < 0 ? e : unknown(raw, quoted);
	}
	case '\'':
		if (quoted)
			break;
		r->at++;
		return ansi_quoted(r, raw);
	case '"':
		if (quoted)
			break;
		r->at++;
		return shell_double_quoted_read(r, raw);
	default:
		break;
	}
	return variable(r, raw, quoted);
}
