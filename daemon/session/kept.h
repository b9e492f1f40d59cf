#ifndef ISOD_SESSION_KEPT_H
#define ISOD_SESSION_KEPT_H
/* The end of a session's output without a terminal: both streams in the order in which they came, LIMIT_LAST_OUTPUT
 * bytes with their frames' heads. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "daemon/wire/session_wire.h"

/* A piece is as large as isod-control takes one. */
#define KEPT_PIECE SESSION_LAST_PIECE

struct kept {
	struct buffer frames;
};

/* type: STREAM_STDOUT or STREAM_STDERR. Without memory less is kept. */
void kept_add(struct kept *k, uint8_t type, const char *data, size_t n);
/* The pieces from the oldest on; *at is 0 at first. False: there are no more. */
bool kept_next(const struct kept *k, size_t *at, uint8_t *ret_type, const char **ret, size_t *ret_len);
void kept_done(struct kept *k);

#endif
