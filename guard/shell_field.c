#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "guard/shell_reader.h"

int shell_words_add(struct shell_script *script, struct shell_words *words, const struct shell_word *word)
{
	if (script->n_words >= LIMIT_SHELL_WORDS)
		return -E2BIG;
	if (words->count == words->size) {
		size_t size = words->size ? words->size * 2 : 8;
		struct shell_word *items = shell_alloc(script, size * sizeof(*items));

		if (!items)
			return -ENOMEM;
		if (words->count > 0)
			memcpy(items, words->items, words->count * sizeof(*items));
		words->items = items;
		words->size = size;
	}
	words->items[words->count++] = *word;
	script->n_words++;
	return 0;
}

/* How many bytes the tilde-prefix at the start takes; 0: none. */
static size_t tilde_prefix(const char *text, const char *marks, size_t len)
{
	size_t n = 1;

	if (len == 0 || text[0] != '~' || marks[0] != SHELL_MARK_PLAIN)
		return 0;
	for (; n < len && text[n] != '/' && text[n] != ':'; n++)
		if (marks[n] != SHELL_MARK_PLAIN)
			return 0;
	return n;
}

/* bash: what looks like an assignment is expanded like one, as an argument, too ("make prefix=~/x"). */
static bool looks_assigned(const char *text, const char *marks, size_t len)
{
	size_t n = 0;

	if (len < 2)
		return false;
	while (n < len && marks[n] == SHELL_MARK_PLAIN && (isalnum((unsigned char)text[n]) || text[n] == '_'))
		n++;
	return n > 0 && n < len && marks[n] == SHELL_MARK_PLAIN && text[n] == '=' && !isdigit((unsigned char)text[0]);
}

/* What a word is part of. */
enum place {
	PLACE_WORD = 0,
	PLACE_VALUE = 1 << 0, /* of an assignment */
	PLACE_PIECE = 1 << 1, /* of a longer word: bash decided about its tildes before it was cut, by rules not
				 followed here */
};

/* One word of bytes and marks. */
static int word_make(struct shell_script *script, const char *text, const char *marks, size_t len, unsigned place,
		     struct shell_word *ret)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_SHELL_TEXT);
	bool assigned = place & PLACE_VALUE;
	bool known = true, at_start = true, in_argument = !assigned && looks_assigned(text, marks, len);
	int e = buffer_reserve(&out, len + 1);

	*ret = (struct shell_word){ .assigns = in_argument };
	for (size_t i = 0; i < len && e == 0; i++) {
		size_t tilde = at_start ? tilde_prefix(text + i, marks + i, len - i) : 0;

		at_start = marks[i] == SHELL_MARK_PLAIN &&
			   ((text[i] == ':' && (assigned || in_argument)) || (text[i] == '=' && in_argument));
		if (text[i] == '=' && in_argument) {
			in_argument = false;
			assigned = true;
		}
		if (tilde > 0) {
			/* Another user's home, or a folder that was visited. */
			known = known && tilde == 1 && script->home && !(place & PLACE_PIECE);
			e = known ? buffer_append_string(&out, script->home) : 0;
			i += tilde - 1;
			continue;
		}
		switch (marks[i]) {
		case SHELL_MARK_UNKNOWN:
			ret->splits = true;
			known = false;
			break;
		case SHELL_MARK_UNKNOWN_QUOTED:
			known = false;
			break;
		case SHELL_MARK_NOTHING:
			ret->quoted = true;
			break;
		default:
			ret->quoted = ret->quoted || marks[i] == SHELL_MARK_QUOTED;
			ret->glob = ret->glob ||
				    (marks[i] == SHELL_MARK_PLAIN && text[i] != '\0' && strchr("*?[", text[i]));
			e = buffer_append(&out, text + i, 1);
		}
	}
	if (e < 0 || !known)
		return e;
	ret->text = shell_copy(script, out.data ? out.data : "", out.len);
	ret->len = out.len;
	return ret->text ? 0 : -ENOMEM;
}

int shell_field_split(struct shell_script *script, const char *text, const char *marks, size_t len, bool piece,
		      struct shell_words *words)
{
	size_t start = 0;

	piece = piece || (len > 0 && memchr(marks, SHELL_MARK_SPLIT, len));
	for (size_t i = 0; i <= len; i++) {
		struct shell_word word;
		int e;

		if (i < len && marks[i] != SHELL_MARK_SPLIT)
			continue;
		if (i > start) { /* nothing between two separators is no word */
			e = word_make(script, text + start, marks + start, i - start, piece ? PLACE_PIECE : PLACE_WORD,
				      &word);
			if (e == 0)
				e = shell_words_add(script, words, &word);
			if (e < 0)
				return e;
		}
		start = i + 1;
	}
	return 0;
}

int shell_word_expand(struct shell_reader *r, const struct shell_raw *raw, struct shell_words *words)
{
	const char *text = raw->text.data;
	size_t len = raw->text.len;

	if (len == 0)
		return 0;
	if (memchr(text, '{', len))
		return shell_brace_expand(r->script, text, raw->marks.data, len, words);
	return shell_field_split(r->script, text, raw->marks.data, len, false, words);
}

int shell_word_single(struct shell_script *script, const struct shell_raw *raw, size_t start, bool assigned,
		      struct shell_word *ret)
{
	if (raw->text.len <= start)
		return word_make(script, "", "", 0, PLACE_WORD, ret);
	return word_make(script, raw->text.data + start, raw->marks.data + start, raw->text.len - start,
			 assigned ? PLACE_VALUE : PLACE_WORD, ret);
}
