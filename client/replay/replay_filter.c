#include "client/replay/replay_filter.h"

#include <stdbool.h>
#include <string.h>

enum { TEXT, ESCAPE, SEQUENCE, TOO_LONG, STRING, STRING_ESCAPE };

#define ESC 0x1b
#define BEL 0x07
#define ENQ 0x05

/* A control sequence by its end: answers (c n x y, p and w with something between, u with a prefix), the window's place
 * and title (t), a printer (i). */
static bool may_pass(const struct replay_filter *f, char final)
{
	char before = f->n > 2 ? f->held[f->n - 2] : 0;
	bool between = before >= 0x20 && before <= 0x2f;

	if (strchr("cnxytiR", final) || (f->prefix && !strchr("hlJKrsm", final)) || (f->prefix == '?' && final == 'm'))
		return false;
	if (between) /* a soft reset, the form of the cursor */
		return (before == '!' && final == 'p') || (before == ' ' && final == 'q');
	if (final == 'q')
		return f->prefix == 0; /* the cursor's form, not the terminal's name */
	return final != 'u' || f->prefix == 0;
}

static int keep(struct replay_filter *f, char c)
{
	if (f->n == sizeof(f->held)) {
		f->state = TOO_LONG;
		f->n = 0;
		return 0;
	}
	f->held[f->n++] = c;
	return 0;
}

static int text(struct replay_filter *f, unsigned char c, struct buffer *out)
{
	char both[2] = { (char)0xc2, (char)c };

	if (f->c1) {
		f->c1 = 0;
		return c < 0xa0 ? 0 : buffer_append(out, both, 2);
	}
	if (c == 0xc2) {
		f->c1 = 1;
		return 0;
	}
	if (c == ESC) {
		f->state = ESCAPE;
		f->n = 0;
		return keep(f, ESC);
	}
	return c == ENQ ? 0 : buffer_append(out, &c, 1);
}

static int escape(struct replay_filter *f, unsigned char c, struct buffer *out)
{
	/* A terminal stays in its escape at DEL, and takes a C1 control in the midst of one. */
	if (c >= 0x7f) {
		f->state = TEXT;
		return c == 0x7f ? 0 : text(f, c, out);
	}
	keep(f, (char)c);
	if (c == '[') {
		f->state = SEQUENCE;
		f->prefix = 0;
		return 0;
	}
	if (strchr("]PX^_", c)) {
		f->state = STRING;
		return 0;
	}
	if (c >= 0x20 && c <= 0x2f) /* a character set, say: one more byte */
		return 0;
	f->state = TEXT;
	if (c == ESC) {
		f->state = ESCAPE;
		f->n = 1;
		return 0;
	}
	/* "ESC %" would leave UTF-8, "ESC SP" make controls of single bytes. */
	return c == 'Z' || c < 0x20 || f->held[1] == '%' || f->held[1] == ' ' ? 0 : buffer_append(out, f->held, f->n);
}

static int sequence(struct replay_filter *f, unsigned char c, struct buffer *out)
{
	if (c > 0x7f) {
		f->state = TEXT;
		return text(f, c, out);
	}
	if (c == ESC || c < 0x20 || c == 0x7f || c > 0x7e) { /* broken off; controls within are not kept */
		f->state = c == ESC ? ESCAPE : TEXT;
		f->held[0] = ESC;
		f->n = 1;
		return 0;
	}
	if (f->n == 2 && c >= 0x3c && c <= 0x3f)
		f->prefix = (char)c;
	keep(f, (char)c);
	if (c < 0x40 || c > 0x7e)
		return 0;
	f->state = TEXT;
	return f->n > 0 && may_pass(f, (char)c) ? buffer_append(out, f->held, f->n) : 0;
}

static int step(struct replay_filter *f, unsigned char c, struct buffer *out)
{
	switch (f->state) {
	case TEXT:
		return text(f, c, out);
	case ESCAPE:
		return escape(f, c, out);
	case SEQUENCE:
		return sequence(f, c, out);
	case TOO_LONG:
		if (c >= 0x40 && c <= 0x7e)
			f->state = TEXT;
		return 0;
	case STRING:
		if (c == BEL || c == 0x18 || c == 0x1a)
			f->state = TEXT;
		else if (c == ESC)
			f->state = STRING_ESCAPE;
		return 0;
	default: /* ST ends it; any other sequence does as well */
		f->state = TEXT;
		if (c == '\\')
			return 0;
		f->state = ESCAPE;
		f->held[0] = ESC;
		f->n = 1;
		return escape(f, c, out);
	}
}

int replay_filter(struct replay_filter *f, const char *data, size_t n, struct buffer *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = step(f, (unsigned char)data[i], out);
	return r;
}
