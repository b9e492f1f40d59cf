#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guard/shell_reader.h"

/* A word while its braces are expanded. */
struct form {
	const char *text, *marks;
	size_t len;
};

static bool plain(const struct form *f, size_t i, char c)
{
	return f->text[i] == c && f->marks[i] == SHELL_MARK_PLAIN;
}

/* For each brace that opens, where it closes; 0: nowhere. One pass, so that a word of braces alone costs no more. */
static void match(const struct form *f, uint32_t *closes)
{
	uint32_t top = 0; /* the innermost that is open, one more than its place; the one around it waits in closes */

	for (uint32_t i = 0; i < f->len; i++) {
		closes[i] = 0;
		if (plain(f, i, '{')) {
			closes[i] = top;
			top = i + 1;
		} else if (plain(f, i, '}') && top) {
			uint32_t open = top - 1;

			top = closes[open];
			closes[open] = i;
		}
	}
	while (top) {
		uint32_t open = top - 1;

		top = closes[open];
		closes[open] = 0;
	}
}

static bool has_comma(const struct form *f, const uint32_t *closes, uint32_t open)
{
	for (uint32_t i = open + 1; i < closes[open]; i++) {
		if (plain(f, i, ','))
			return true;
		if (closes[i])
			i = closes[i];
	}
	return false;
}

static int expand(struct shell_script *script, const struct form *f, size_t done, bool piece,
		  struct shell_words *words);

/* The word with middle in place of what stands from open to close, expanded from there on. */
static int with(struct shell_script *script, const struct form *f, size_t open, size_t close, const struct form *middle,
		struct shell_words *words)
{
	size_t tail = f->len - close - 1, len = open + middle->len + tail;
	_cleanup_free_ char *text = NULL;
	char *marks;
	int e;

	/* Each form is work, whether its words are kept or not. */
	if (2 * len > LIMIT_SHELL_MEMORY - script->used)
		return -E2BIG;
	script->used += 2 * len;
	text = malloc(2 * len + 1);
	if (!text)
		return -ENOMEM;
	marks = text + len;
	memcpy(text, f->text, open);
	memcpy(text + open, middle->text, middle->len);
	memcpy(text + open + middle->len, f->text + close + 1, tail);
	memcpy(marks, f->marks, open);
	memcpy(marks + open, middle->marks, middle->len);
	memcpy(marks + open + middle->len, f->marks + close + 1, tail);
	e = shell_enter(script);
	if (e < 0)
		return e;
	e = expand(script, &(struct form){ text, marks, len }, open, true, words);
	shell_leave(script);
	return e;
}

static int each_alternative(struct shell_script *script, const struct form *f, const uint32_t *closes, uint32_t open,
			    struct shell_words *words)
{
	uint32_t close = closes[open], start = open + 1;

	for (uint32_t i = open + 1; i <= close; i++) {
		struct form middle;
		int e;

		if (i < close && closes[i]) {
			i = closes[i];
			continue;
		}
		if (i < close && !plain(f, i, ','))
			continue;
		middle = (struct form){ f->text + start, f->marks + start, i - start };
		e = with(script, f, open, close, &middle, words);
		if (e < 0)
			return e;
		start = i + 1;
	}
	return 0;
}

/* A whole number of at most nine digits; false. Past it. */
static bool whole_number(const char **at, long *ret)
{
	const char *p = *at;
	char *end;

	if (*p == '-' || *p == '+')
		p++;
	if (!isdigit((unsigned char)*p))
		return false;
	*ret = strtol(*at, &end, 10);
	if (end - p > 9)
		return false;
	*at = end;
	return true;
}

struct sequence {
	long from, to, step;
	bool letters;
	int width; /* with leading zeros */
};

/* "1..9", "01..9..2", "a..e" */
static bool sequence_of(const struct form *f, uint32_t open, uint32_t close, struct sequence *s)
{
	char text[64];
	size_t len = close - open - 1;
	const char *p = text, *second;

	*s = (struct sequence){ .step = 1 };
	if (len < 4 || len >= sizeof(text))
		return false;
	for (uint32_t i = open + 1; i < close; i++)
		if (f->marks[i] != SHELL_MARK_PLAIN)
			return false;
	memcpy(text, f->text + open + 1, len);
	text[len] = '\0';
	if (isalpha((unsigned char)p[0]) && p[1] == '.' && p[2] == '.' && isalpha((unsigned char)p[3])) {
		s->letters = true;
		s->from = (unsigned char)p[0];
		s->to = (unsigned char)p[3];
		p += 4;
	} else {
		if (!whole_number(&p, &s->from) || p[0] != '.' || p[1] != '.')
			return false;
		second = p + 2;
		if (text[text[0] == '-'] == '0' && p - text > 1)
			s->width = (int)(p - text);
		p = second;
		if (!whole_number(&p, &s->to))
			return false;
		if (second[second[0] == '-'] == '0' && p - second > 1 && p - second > s->width)
			s->width = (int)(p - second);
	}
	if (p[0] == '.' && p[1] == '.') {
		p += 2;
		if (!whole_number(&p, &s->step))
			return false;
	}
	s->step = s->step == 0 ? 1 : labs(s->step);
	return *p == '\0';
}

static int each_number(struct shell_script *script, const struct form *f, uint32_t open, uint32_t close,
		       const struct sequence *s, struct shell_words *words)
{
	long step = s->from <= s->to ? s->step : -s->step;

	for (long n = s->from; step > 0 ? n <= s->to : n >= s->to; n += step) {
		char text[32], marks[32];
		int len = s->letters ? snprintf(text, sizeof(text), "%c", (char)n)
				     : snprintf(text, sizeof(text), "%0*ld", s->width, n);
		struct form middle = { text, marks, (size_t)len };
		int e;

		/* Quoted, since an expanded "[" or a backslash of {A..z} means itself. */
		memset(marks, SHELL_MARK_QUOTED, sizeof(marks));
		e = with(script, f, open, close, &middle, words);
		if (e < 0)
			return e;
	}
	return 0;
}

/* done: what stands before is final. piece: an alternative was put in already. */
static int expand(struct shell_script *script, const struct form *f, size_t done, bool piece, struct shell_words *words)
{
	_cleanup_free_ uint32_t *closes = malloc((f->len + 1) * sizeof(*closes));
	struct sequence s;

	if (!closes)
		return -ENOMEM;
	match(f, closes);
	for (uint32_t i = (uint32_t)done; i < f->len; i++) {
		if (!closes[i])
			continue;
		if (has_comma(f, closes, i))
			return each_alternative(script, f, closes, i, words);
		if (sequence_of(f, i, closes[i], &s))
			return each_number(script, f, i, closes[i], &s, words);
	}
	return shell_field_split(script, f->text, f->marks, f->len, piece, words);
}

int shell_brace_expand(struct shell_script *script, const char *text, const char *marks, size_t len,
		       struct shell_words *words)
{
	const struct form f = { text, marks, len };

	for (size_t i = 0; i < len; i++) {
		if (!plain(&f, i, '{'))
			continue;
		if (len > LIMIT_SHELL_BRACES)
			return -E2BIG;
		return expand(script, &f, 0, false, words);
	}
	return shell_field_split(script, text, marks, len, false, words);
}
