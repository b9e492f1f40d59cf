#include "client/run/terminal_modes.h"

#include <string.h>

#include "base/cleanup.h"

enum state { GROUND = 0, ESCAPE, CSI, STRING, STRING_ESCAPE };

/* DEC private modes, in the order in which they are put back: reports first, so that none arrives at the shell. */
static const struct mode {
	uint16_t number;
	bool rest; /* its resting state: set or not */
} modes[] = {
	{ 1000, false }, { 1001, false }, { 1002, false }, { 1003, false }, { 1004, false }, { 1005, false },
	{ 1006, false }, { 1015, false }, { 1016, false }, { 2004, false }, { 2026, false }, { 1, false },
	{ 47, false },   { 1047, false }, { 1049, false }, { 7, true },     { 25, true },
};
_Static_assert(ARRAY_SIZE(modes) <= 32, "one bit a mode");

#define MAX_PARAMETER 99999U
#define MAX_KEYBOARD_LEVELS 32U

static void private_mode(struct terminal_modes *m, uint32_t number, bool on)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (modes[i].number != number)
			continue;
		if (on == modes[i].rest)
			m->changed &= ~(1U << i);
		else
			m->changed |= 1U << i;
	}
}

static void keyboard(struct terminal_modes *m)
{
	uint32_t n = m->parameters[0] ? m->parameters[0] : 1;

	if (m->prefix == '>' && m->keyboard_levels < MAX_KEYBOARD_LEVELS)
		m->keyboard_levels++;
	else if (m->prefix == '<')
		m->keyboard_levels -= n < m->keyboard_levels ? n : m->keyboard_levels;
}

static void all_at_rest(struct terminal_modes *m)
{
	m->changed = 0;
	m->keypad = false;
	m->keyboard_levels = 0;
}

static void csi_end(struct terminal_modes *m, char final)
{
	if (m->intermediate == '!' && final == 'p') { /* soft reset */
		m->keypad = false;
		private_mode(m, 25, true);
		private_mode(m, 1, false);
		return;
	}
	if (m->intermediate)
		return;
	if (final == 'u')
		keyboard(m);
	if (m->prefix != '?' || (final != 'h' && final != 'l'))
		return;
	for (unsigned i = 0; i < m->n_parameters; i++)
		private_mode(m, m->parameters[i], final == 'h');
}

static void csi_begin(struct terminal_modes *m)
{
	m->state = CSI;
	m->prefix = 0;
	m->intermediate = 0;
	m->n_parameters = 1;
	m->parameters[0] = 0;
}

static void csi_byte(struct terminal_modes *m, unsigned char c)
{
	uint32_t *last = &m->parameters[m->n_parameters - 1];

	if (c == 0x1b) {
		m->state = ESCAPE;
	} else if (c == 0x18 || c == 0x1a) { /* CAN, SUB: cancelled */
		m->state = GROUND;
	} else if (c >= '0' && c <= '9') {
		*last = *last * 10 + (c - '0') < MAX_PARAMETER ? *last * 10 + (c - '0') : MAX_PARAMETER;
	} else if (c == ';' || c == ':') {
		if (m->n_parameters < TERMINAL_MODES_PARAMETERS)
			m->parameters[m->n_parameters++] = 0;
		else
			*last = MAX_PARAMETER; /* too many: the rest means nothing to us */
	} else if (c >= 0x3c && c <= 0x3f) {
		m->prefix = (char)c;
	} else if (c >= 0x20 && c <= 0x2f) {
		m->intermediate = (char)c;
	} else if (c >= 0x40 && c <= 0x7e) {
		m->state = GROUND;
		csi_end(m, (char)c);
	}
	/* Other control characters act inside a sequence without ending it. */
}

static void escape_byte(struct terminal_modes *m, unsigned char c)
{
	m->state = GROUND;
	switch (c) {
	case '[':
		csi_begin(m);
		break;
	case ']':
	case 'P':
	case '_':
	case '^':
	case 'X':
		m->state = STRING;
		break;
	case '=':
		m->keypad = true;
		break;
	case '>':
		m->keypad = false;
		break;
	case 'c': /* full reset */
		all_at_rest(m);
		break;
	case 0x1b:
		m->state = ESCAPE;
		break;
	default:
		break;
	}
}

static void string_byte(struct terminal_modes *m, unsigned char c)
{
	if (c == 0x07 || c == 0x18 || c == 0x1a)
		m->state = GROUND;
	else if (c == 0x1b)
		m->state = STRING_ESCAPE;
}

void terminal_modes_feed(struct terminal_modes *m, const void *data, size_t len)
{
	const unsigned char *at = data, *end = at + len;

	while (at < end) {
		switch ((enum state)m->state) {
		case GROUND:
			at = memchr(at, 0x1b, (size_t)(end - at));
			if (!at)
				return;
			m->state = ESCAPE;
			break;
		case ESCAPE:
			escape_byte(m, *at);
			break;
		case CSI:
			csi_byte(m, *at);
			break;
		case STRING:
			string_byte(m, *at);
			break;
		case STRING_ESCAPE: /* ESC \ ends the string; any other ESC x cancels it and begins anew */
			escape_byte(m, *at);
			break;
		}
		at++;
	}
}

int terminal_modes_reset(const struct terminal_modes *m, struct buffer *out)
{
	int r = 0;

	/* A string or sequence that was cut would swallow what follows. */
	if (m->state != GROUND)
		r = buffer_append_string(out, "\x18\x1b\\");
	if (r == 0 && m->keyboard_levels > 0)
		r = buffer_printf(out, "\x1b[<%uu", m->keyboard_levels);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(modes); i++)
		if (m->changed & 1U << i)
			r = buffer_printf(out, "\x1b[?%u%c", modes[i].number, modes[i].rest ? 'h' : 'l');
	if (r == 0 && m->keypad)
		r = buffer_append_string(out, "\x1b>");
	return r;
}
