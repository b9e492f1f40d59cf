#include "guard/unwrap.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/unwrap_rule.h"

const char *unwrap_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *unwrap_label(struct unwrap *u, const char *suffix)
{
	size_t n = strlen(u->name), m = strlen(suffix);
	char *label = shell_alloc(u->script, n + m + 2);

	if (!label)
		return NULL;
	memcpy(label, u->name, n);
	label[n] = ' ';
	memcpy(label + n + 1, suffix, m + 1);
	return label;
}

static bool takes_value(const char *const *longs, const char *name)
{
	size_t n = strlen(name);

	/* Abbreviated, too: "--sig" for "--signal". */
	for (size_t i = 0; longs && longs[i]; i++)
		if (strncmp(longs[i], name, n) == 0)
			return true;
	return false;
}

/*
 * One word among options: how many words it takes; 0: it is none. *ret_end: the options end with it ("--"). *ret_value:
 * what follows a short option in the same word, or "=" in a long one, or the next word begins.
 */
static size_t option_words(const struct unwrap *u, size_t i, const struct unwrap_options *options, bool *ret_end)
{
	const char *text = u->command.words[i].text;

	*ret_end = false;
	if (!text || text[0] != '-' || !text[1])
		return 0;
	if (text[1] == '-') {
		*ret_end = !text[2];
		return 1 + (size_t)(text[2] && !strchr(text, '=') && takes_value(options->longs, text + 2));
	}
	for (const char *p = text + 1; *p; p++)
		if (options->values && strchr(options->values, *p))
			return p[1] ? 1 : 2;
	return 1;
}

size_t unwrap_options_skip(const struct unwrap *u, size_t i, const struct unwrap_options *options)
{
	bool end = false;

	while (!end && i < u->command.n_words) {
		size_t n = option_words(u, i, options, &end);

		if (n == 0)
			break;
		i += n;
	}
	return i < u->command.n_words ? i : u->command.n_words;
}

const struct shell_word *unwrap_option(const struct unwrap *u, size_t i, const struct unwrap_options *options,
				       char letter, const char *name)
{
	bool end = false;

	while (!end && i < u->command.n_words) {
		size_t n = option_words(u, i, options, &end);
		const struct shell_word *word = &u->command.words[i];

		if (n == 0)
			return NULL;
		if (word->text[1] == '-') {
			size_t len = strlen(name);

			if (word->text[2] && strncmp(word->text + 2, name, len) == 0 && word->text[2 + len] == '=') {
				struct shell_word *value = shell_alloc(u->script, sizeof(*value));

				if (value)
					*value = (struct shell_word){ .text = word->text + 3 + len,
								      .len = word->len - 3 - len };
				return value;
			}
			if (n == 2 && strncmp(name, word->text + 2, word->len - 2) == 0)
				return i + 1 < u->command.n_words ? word + 1 : NULL;
		}
		for (const char *p = word->text + 1; word->text[1] != '-' && *p; p++) {
			if (*p == letter && n == 2)
				return i + 1 < u->command.n_words ? word + 1 : NULL;
			if (*p == letter) {
				struct shell_word *value = shell_alloc(u->script, sizeof(*value));

				if (value)
					*value = (struct shell_word){ .text = p + 1, .len = strlen(p + 1) };
				return value;
			}
			if (options->values && strchr(options->values, *p))
				break;
		}
		i += n;
	}
	return NULL;
}

static const struct shell_via *via_new(struct unwrap *u, const char *name)
{
	struct shell_via *via = shell_alloc(u->script, sizeof(*via));

	if (via)
		*via = (struct shell_via){ .name = name, .outer = u->command.via };
	return via;
}

static int add(struct unwrap *u, struct shell_word *words, size_t n_words, const char *name)
{
	const struct shell_via *via = name ? via_new(u, name) : NULL;
	struct shell_command c = u->command;

	if (!via)
		return -ENOMEM;
	c.words = words;
	c.n_words = n_words;
	c.via = via;
	return shell_command_add(u->script, &c);
}

int unwrap_words(struct unwrap *u, size_t first, size_t end, const char *via)
{
	return first < end ? add(u, u->command.words + first, end - first, via) : 0;
}

int unwrap_unknown(struct unwrap *u, const char *via)
{
	struct shell_word *word = shell_alloc(u->script, sizeof(*word));

	if (!word)
		return -ENOMEM;
	*word = (struct shell_word){ .splits = true };
	return add(u, word, 1, via);
}

int unwrap_text(struct unwrap *u, const struct shell_word *text, const char *name)
{
	const struct shell_via *via;
	int e;

	if (!text->text)
		return unwrap_unknown(u, name);
	via = name ? via_new(u, name) : NULL;
	if (!via)
		return -ENOMEM;
	e = shell_parse(u->script, text->text, text->len, via, u->command.from, u->command.to);
	if (e != -EBADMSG)
		return e;
	/* What was read before the fault stays; what the rest is, nobody can say. */
	u->error = e;
	return unwrap_unknown(u, name);
}

int unwrap_joined(struct unwrap *u, size_t first, size_t end, const char *via)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(LIMIT_SHELL_TEXT);
	struct shell_word joined = { .quoted = true };
	int e = 0;

	if (first >= end)
		return 0;
	for (size_t i = first; i < end && e == 0; i++) {
		if (!u->command.words[i].text)
			return unwrap_unknown(u, via);
		e = i > first ? buffer_append(&text, " ", 1) : 0;
		if (e == 0)
			e = buffer_append(&text, u->command.words[i].text, u->command.words[i].len);
	}
	if (e < 0)
		return e == -EMSGSIZE ? -E2BIG : e;
	joined.text = shell_copy(u->script, text.data ? text.data : "", text.len);
	joined.len = text.len;
	return joined.text ? unwrap_text(u, &joined, via) : -ENOMEM;
}

size_t unwrap_assignments_skip(const struct unwrap *u, size_t i)
{
	while (i < u->command.n_words &&
	       (u->command.words[i].assigns || (u->command.words[i].text && strchr(u->command.words[i].text, '='))))
		i++;
	return i;
}

static int unwrap(struct unwrap *u, const struct unwrap_rule *rule)
{
	size_t first = 1;

	if (rule->flags & UNWRAP_RAW)
		return rule->run(u, first);
	first = unwrap_options_skip(u, first, &rule->options);
	if (rule->flags & UNWRAP_ASSIGNMENTS)
		first = unwrap_assignments_skip(u, first);
	for (unsigned i = 0; i < rule->operands && first < u->command.n_words; i++)
		first++;
	if (rule->run)
		return rule->run(u, first);
	if (rule->flags & UNWRAP_JOINED)
		return unwrap_joined(u, first, u->command.n_words, u->name);
	return unwrap_words(u, first, u->command.n_words, u->name);
}

static size_t depth_of(const struct shell_via *via)
{
	size_t depth = 0;

	for (; via; via = via->outer)
		depth++;
	return depth;
}

int unwrap_script(struct shell_script *script)
{
	int error = 0;

	for (size_t i = 0; i < script->n_commands; i++) {
		struct unwrap u = { .script = script, .command = script->commands[i] };
		const struct unwrap_rule *rule;
		int e;

		if (u.command.n_words == 0 || !u.command.words[0].text)
			continue;
		u.name = unwrap_basename(u.command.words[0].text);
		rule = unwrap_rule_find(u.name);
		if (!rule)
			continue;
		if (depth_of(u.command.via) >= LIMIT_SHELL_UNWRAP)
			return -E2BIG;
		e = unwrap(&u, rule);
		if (e < 0)
			return e;
		if (u.error < 0 && error == 0)
			error = u.error;
	}
	return error;
}
