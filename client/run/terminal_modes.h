#ifndef ISOD_CLIENT_TERMINAL_MODES_H
#define ISOD_CLIENT_TERMINAL_MODES_H
/*
 * Which terminal modes a program's output has left switched on, so that a program that was killed does not leave the
 * user with mouse reports, an alternate screen or no cursor. Pure: bytes in, bytes out; sequences may be cut anywhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define TERMINAL_MODES_PARAMETERS 16

struct terminal_modes {
	uint32_t changed;         /* bit i: row i of the table differs from its resting state */
	bool keypad;              /* application keypad */
	unsigned keyboard_levels; /* kitty keyboard protocol: levels pushed and not popped */
	/* parser */
	uint8_t state;
	char prefix; /* '?', '>', '<', '=' or 0 */
	char intermediate;
	uint32_t parameters[TERMINAL_MODES_PARAMETERS];
	unsigned n_parameters;
};

#define TERMINAL_MODES_INIT                                                                                            \
	{                                                                                                              \
		.changed = 0                                                                                           \
	}

void terminal_modes_feed(struct terminal_modes *m, const void *data, size_t len);

/* Appends the sequences that bring everything back to rest; nothing where nothing is left on. 0 or -errno. */
int terminal_modes_reset(const struct terminal_modes *m, struct buffer *out);

#endif
