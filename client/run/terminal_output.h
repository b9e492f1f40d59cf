#ifndef ISOD_CLIENT_TERMINAL_OUTPUT_H
#define ISOD_CLIENT_TERMINAL_OUTPUT_H
/* What waits to be written to the caller's stdout, without ever blocking on it. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Above this nothing more is taken from the session. */
#define TERMINAL_OUTPUT_HIGH (256U << 10)

struct terminal_output {
	int fd; /* our own opening of stdout where that worked, else stdout */
	bool blocks;
	bool gone;
	struct buffer queue;
	size_t written; /* bytes of it that are out: moving the rest for each write would cost more than the write */
};

#define TERMINAL_OUTPUT_INIT                                                                                           \
	{                                                                                                              \
		.fd = -1, .queue = BUFFER_INIT(2U << 20)                                                               \
	}

void terminal_output_open(struct terminal_output *o);
void terminal_output_close(struct terminal_output *o);
size_t terminal_output_waiting(const struct terminal_output *o);
/* Writes what waits; false where it would block or is gone. */
bool terminal_output_write(struct terminal_output *o);
/* Nothing where it is gone. 0 or -errno. */
int terminal_output_add(struct terminal_output *o, const void *data, size_t n);

#endif
