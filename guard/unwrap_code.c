#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/unwrap_rule.h"

/*
 * Code of another language on the command line. It is not parsed: calls that run programs are known by their names, and
 * what stands in them as strings is what they run. What they run otherwise is not known.
 */
static const struct {
	const char *name;
	bool argv_follows; /* its first argument is the program, the list after it its arguments (else the list is all
			      of it) */
} calls[] = {
	{ "system", false },
	{ "popen", false },
	{ "run", false },
	{ "call", false },
	{ "check_call", false },
	{ "check_output", false },
	{ "Popen", false },
	{ "getoutput", false },
	{ "getstatusoutput", false },
	{ "exec", false },
	{ "execSync", false },
	{ "execFile", true },
	{ "execFileSync", true },
	{ "spawn", true },
	{ "spawnSync", true },
	{ "execv", false },
	{ "execve", false },
	{ "execvp", false },
	{ "execvpe", false },
	{ "execl", false },
	{ "execlp", false },
	{ "create_subprocess_shell", false },
	{ "create_subprocess_exec", false },
	{ "shell_exec", false },
	{ "passthru", false },
	{ "proc_open", false },
	{ "posix_spawn", false },
	{ "posix_spawnp", false },
	{ "spawnlp", false },
	{ "spawnvp", false },
};

struct code {
	const char *at, *end;
};

static void skip_space(struct code *c)
{
	while (c->at < c->end && isspace((unsigned char)*c->at))
		c->at++;
}

/* A string literal: its text without the quotes, escapes of quotes and backslashes undone. False: none here. */
static bool literal(struct unwrap *u, struct code *c, struct shell_word *ret, int *ret_error)
{
	const char *start;
	char quote, *text;
	size_t n = 0;

	while (c->at < c->end && strchr("rbuf", *c->at) && c->at + 1 < c->end && strchr("'\"", c->at[1]))
		c->at++; /* Python's prefixes */
	if (c->at == c->end || !strchr("'\"`", *c->at))
		return false;
	quote = *c->at++;
	start = c->at;
	while (c->at < c->end && *c->at != quote)
		c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
	text = shell_alloc(u->script, (size_t)(c->at - start) + 1);
	if (!text) {
		*ret_error = -ENOMEM;
		return false;
	}
	for (const char *p = start; p < c->at; p++) {
		if (*p == '\\' && c->at - p > 1)
			p++;
		text[n++] = *p;
	}
	text[n] = '\0';
	if (c->at < c->end)
		c->at++;
	*ret = (struct shell_word){ .text = text, .len = n, .quoted = true };
	return true;
}

struct arguments {
	struct shell_words strings; /* of the call itself, and of the first list in it */
	size_t n_outside;           /* those that stand before the list */
	bool list;
};

/* Up to the parenthesis that closes the call: strings, and brackets around them; a name or anything else is not known.
 */
static int arguments_read(struct unwrap *u, struct code *c, struct arguments *a)
{
	int depth = 1, error = 0;

	while (c->at < c->end && depth > 0 && error == 0) {
		struct shell_word word;

		skip_space(c);
		if (c->at == c->end)
			break;
		if (literal(u, c, &word, &error)) {
			error = shell_words_add(u->script, &a->strings, &word);
			a->n_outside += !a->list;
			continue;
		}
		if (*c->at == '[' && a->list && depth == 1)
			return error; /* a second list: options */
		if (*c->at == '[' || *c->at == '{' || *c->at == '(') {
			a->list = a->list || *c->at == '[';
			depth++;
		} else if (*c->at == ']' || *c->at == '}' || *c->at == ')') {
			depth--;
		} else if (*c->at != ',' && a->strings.count == 0) {
			word = (struct shell_word){ .splits = true };
			error = shell_words_add(u->script, &a->strings, &word);
			while (c->at + 1 < c->end && (isalnum((unsigned char)c->at[1]) || c->at[1] == '_'))
				c->at++;
		} else if (*c->at == '=') {
			return error; /* keyword arguments */
		}
		c->at++;
	}
	return error;
}

static int call_add(struct unwrap *u, const struct arguments *a, bool argv_follows, const char *via)
{
	struct shell_command before = u->command;
	size_t n = a->strings.count, first = 0;
	int e;

	if (n == 0)
		return 0;
	if (n == 1 && !a->list)
		return unwrap_text(u, &a->strings.items[0], via);
	if (a->list && !argv_follows && a->n_outside < n)
		first = a->n_outside; /* exec("/bin/git", ["git", "push"]) */
	u->command.words = a->strings.items;
	u->command.n_words = n;
	e = unwrap_words(u, first, n, via);
	u->command = before;
	return e;
}

/* The call whose name ends at c->at, just before its "(". */
static int call_read(struct unwrap *u, struct code *c, const char *name, size_t len, const char *via)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct arguments a = { .list = false };
		int e;

		if (strlen(calls[i].name) != len || memcmp(calls[i].name, name, len) != 0)
			continue;
		e = arguments_read(u, c, &a);
		return e < 0 ? e : call_add(u, &a, calls[i].argv_follows, via);
	}
	return 0;
}

static int code_scan(struct unwrap *u, const struct shell_word *text, const char *via)
{
	struct code c = { text->text, text->text + text->len };
	int e = 0;

	while (c.at < c.end && e == 0) {
		const char *name = c.at;

		if (!isalpha((unsigned char)*c.at) && *c.at != '_') {
			c.at++;
			continue;
		}
		while (c.at < c.end && (isalnum((unsigned char)*c.at) || *c.at == '_'))
			c.at++;
		if (c.at < c.end && *c.at == '(') {
			size_t len = (size_t)(c.at - name);

			c.at++;
			e = call_read(u, &c, name, len, via);
		} else if (c.at - name == 6 && memcmp(name, "system", 6) == 0) {
			size_t len = 6; /* Perl and Ruby need no parentheses */

			e = call_read(u, &c, name, len, via);
		}
	}
	return e;
}

static const struct unwrap_options python_options = { .values = "cmWX" };
static const struct unwrap_options perl_options = { .values = "eEFIMmCDx" };
static const struct unwrap_options code_options = { .values = "ceErpIFd" };

/* awk's program is its first operand; the others take theirs after -c, -e, -p or -r. */
int unwrap_code(struct unwrap *u, size_t first)
{
	static const char *const letters[] = { "c", "e", "E", "r", "p" };
	static const char *const names[] = { "command", "eval", "eval", "run", "print" };
	const struct unwrap_options *o = strncmp(u->name, "py", 2) == 0     ? &python_options
					 : strncmp(u->name, "perl", 4) == 0 ? &perl_options
									    : &code_options;
	bool awk = strstr(u->name, "awk") != NULL;

	if (awk) {
		size_t i = unwrap_options_skip(u, first, &(struct unwrap_options){ .values = "fFv" });

		return i < u->command.n_words && u->command.words[i].text ? code_scan(u, &u->command.words[i], u->name)
									  : 0;
	}
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		const struct shell_word *text =
			strchr(o->values, letters[i][0]) ? unwrap_option(u, first, o, letters[i][0], names[i]) : NULL;
		int e;

		if (!text)
			continue;
		if (!text->text)
			return unwrap_unknown(u, unwrap_label(u, "-c"));
		e = code_scan(u, text, unwrap_label(u, letters[i][0] == 'c' ? "-c" : "-e"));
		if (e < 0)
			return e;
	}
	if (u->command.n_words > 1 && !(u->command.words[1].text && strcmp(u->command.words[1].text, "-") == 0))
		return 0;
	if (u->command.input_kind == SHELL_INPUT_TEXT && u->command.input.text)
		return code_scan(u, &u->command.input, unwrap_label(u, "<<"));
	return 0;
}
