#include "git/git_config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define END (-1)

struct text {
	char *data;
	size_t size; /* with the NUL */
	size_t len;
};

static int put(struct text *t, char c)
{
	if (c == '\0')
		return -EBADMSG;
	if (t->len + 1 >= t->size)
		return -EMSGSIZE;
	t->data[t->len++] = c;
	t->data[t->len] = '\0';
	return 0;
}

/* Locale-independent, and of git's own choice: neither \v nor \f. */
static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char lower(int c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* CR LF is one line end. */
static int peek(const struct git_config *c)
{
	if (c->at == c->end)
		return END;
	if (*c->at == '\r' && c->end - c->at > 1 && c->at[1] == '\n')
		return '\n';
	return (unsigned char)*c->at;
}

static int take(struct git_config *c)
{
	int byte = peek(c);

	if (byte == END)
		return END;
	c->at += byte == '\n' && *c->at == '\r' ? 2 : 1;
	c->line += byte == '\n';
	return byte;
}

static void skip_line(struct git_config *c)
{
	for (int byte = take(c); byte != END && byte != '\n';)
		byte = take(c);
}

static void skip_blanks(struct git_config *c)
{
	while (is_blank(peek(c)))
		take(c);
}

/* Behind a section's name and a blank: "subsection"]. */
static int read_subsection(struct git_config *c, struct text *to)
{
	skip_blanks(c);
	if (take(c) != '"')
		return -EBADMSG;
	for (;;) {
		int byte = take(c), r;

		if (byte == '"')
			return take(c) == ']' ? 0 : -EBADMSG;
		if (byte == '\\')
			byte = take(c);
		if (byte == END || byte == '\n')
			return -EBADMSG;
		r = put(to, (char)byte);
		if (r < 0)
			return r;
	}
}

/* The header up to "]"; its "[" is taken. */
static int read_header(struct git_config *c)
{
	struct text section = { .data = c->section, .size = sizeof(c->section) };
	struct text subsection = { .data = c->subsection, .size = sizeof(c->subsection) };
	bool dot = false;

	c->section[0] = '\0';
	c->subsection[0] = '\0';
	for (;;) {
		int byte = take(c), r = 0;

		if (byte == ']')
			return section.len > 0 ? 0 : -EBADMSG;
		if (is_blank(byte) && section.len > 0) {
			if (dot)
				r = put(&subsection, '.');
			return r < 0 ? r : read_subsection(c, &subsection);
		}
		if (!is_name(byte) && byte != '.')
			return -EBADMSG;
		/* [section.sub.more]: the first dot parts, the others belong to the subsection. */
		if (byte == '.' && !dot) {
			dot = true;
			continue;
		}
		r = put(dot ? &subsection : &section, lower(byte));
		if (r < 0)
			return r;
	}
}

static int read_escape(struct git_config *c, struct text *value)
{
	int byte = take(c);

	switch (byte) {
	case 't':
		return put(value, '\t');
	case 'b':
		return put(value, '\b');
	case 'n':
		return put(value, '\n');
	case '"':
	case '\\':
		return put(value, (char)byte);
	default:
		return -EBADMSG;
	}
}

/* Behind the "=". Blanks around the value go, those within it and in quotes stay. */
static int read_value(struct git_config *c)
{
	struct text value = { .data = c->value, .size = sizeof(c->value) };
	size_t keep = 0;
	bool quoted = false;
	int r = 0;

	c->value[0] = '\0';
	while (r == 0) {
		int byte = take(c);

		if (byte == END || byte == '\n') {
			c->value[keep] = '\0';
			return quoted ? -EBADMSG : 0;
		}
		if (!quoted && is_blank(byte)) {
			r = value.len > 0 ? put(&value, (char)byte) : 0;
			continue;
		}
		if (!quoted && (byte == '#' || byte == ';')) {
			skip_line(c);
			c->value[keep] = '\0';
			return 0;
		}
		if (byte == '\\' && peek(c) == '\n') {
			take(c);
			continue;
		}
		if (byte == '"')
			quoted = !quoted;
		else
			r = byte == '\\' ? read_escape(c, &value) : put(&value, (char)byte);
		keep = value.len;
	}
	return r;
}

/* A variable whose first letter is next. */
static int read_entry(struct git_config *c, struct git_config_entry *ret)
{
	struct text key = { .data = c->key, .size = sizeof(c->key) };
	int byte, r = 0;

	*ret = (struct git_config_entry){ c->section, c->subsection, c->key, c->value, c->line };
	while (r == 0 && is_name(peek(c)))
		r = put(&key, lower(take(c)));
	if (r < 0)
		return r;
	while (peek(c) == ' ' || peek(c) == '\t')
		take(c);
	byte = take(c);
	if (byte == END || byte == '\n') {
		ret->value = NULL;
		return 1;
	}
	if (byte != '=')
		return -EBADMSG;
	r = read_value(c);
	return r < 0 ? r : 1;
}

void git_config_begin(struct git_config *c, const char *text, size_t len)
{
	/* A byte order mark is what some editors leave. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	c->at = text;
	c->end = text + len;
	c->line = 1;
	c->section[0] = '\0';
	c->subsection[0] = '\0';
}

int git_config_next(struct git_config *c, struct git_config_entry *ret)
{
	for (;;) {
		const char *start = c->at;
		unsigned line = c->line;
		int byte = peek(c), r;

		if (byte == END)
			return 0;
		if (is_letter(byte)) {
			r = read_entry(c, ret);
		} else if (byte == '[') {
			take(c);
			r = read_header(c);
		} else if (byte == '#' || byte == ';') {
			skip_line(c);
			r = 0;
		} else if (is_blank(byte) || byte == '\n') {
			take(c);
			r = 0;
		} else {
			r = -EBADMSG;
		}
		if (r < 0) {
			c->at = start;
			c->line = line;
		}
		if (r != 0)
			return r;
	}
}

int git_config_bool(const char *value)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	static const char *const no[] = { "false", "no", "off", "0", "" };

	if (!value)
		return 1;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcasecmp(value, yes[i]) == 0)
			return 1;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcasecmp(value, no[i]) == 0)
			return 0;
	return -EINVAL;
}
