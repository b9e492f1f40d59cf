#ifndef ISOD_CLIENT_REPLAY_FILTER_H
#define ISOD_CLIENT_REPLAY_FILTER_H
/*
 * What of a recording's output may reach the terminal. A recording may be anybody's: text, colours, movements and modes
 * pass; strings to the terminal itself (title, clipboard, notifications: OSC, DCS, APC, PM, SOS), and what makes it
 * answer (DA, DSR, ENQ ...) or print, do not. Sequences may be cut anywhere. Pure.
 */
#include <stddef.h>

#include "base/buffer.h"

struct replay_filter {
	unsigned char state;
	char prefix; /* of a CSI sequence: one of <=>?, or 0 */
	char held[64];
	size_t n;
	unsigned char c1; /* 0xc2 was the last byte: C1 controls of UTF-8 follow it */
};

/* text: UTF-8. 0, -EMSGSIZE, -ENOMEM. */
int replay_filter(struct replay_filter *f, const char *text, size_t n, struct buffer *out);

#endif
