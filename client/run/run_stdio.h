#ifndef ISOD_CLIENT_RUN_STDIO_H
#define ISOD_CLIENT_RUN_STDIO_H
/*
 * The three descriptors of a session without a pty. Pipes and /dev/null are handed over as they are, so that
 * bytes never pass through isoctl. Anything else is not: the session could re-open a file through /proc/self/fd with
 * rights that the descriptor does not give, a terminal could be typed into, and a socket brings descriptors. It gets a
 * pipe then, and isoctl relays.
 */
#include <stddef.h>

#include "base/error.h"
#include "client/run/relay.h"

#define RUN_STDIO_RELAYS 3

struct run_stdio {
	int pass[3]; /* what the session gets; owned where that differs from 0, 1, 2 */
	struct relay relays[RUN_STDIO_RELAYS];
	int number[RUN_STDIO_RELAYS]; /* which of 0, 1, 2 a relay serves */
	size_t n_relays;
};

#define RUN_STDIO_INIT                                                                                                 \
	{                                                                                                              \
		.pass = { -1, -1, -1 }                                                                                 \
	}

/* 0, 1 and 2 are open (main() sees to it). 0, or -errno with *e filled. */
int run_stdio_prepare(struct run_stdio *s, struct error *e);
/* Once the descriptors are sent: only the session's copies may keep the pipes open. */
void run_stdio_sent(struct run_stdio *s);
void run_stdio_done(struct run_stdio *s);

#endif
