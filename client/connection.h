#ifndef ISOD_CLIENT_CONNECTION_H
#define ISOD_CLIENT_CONNECTION_H
/* The connection to isod: messages out with descriptors, replies in. The socket blocks unless the owner changes that.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/value.h"
#include "proto/varlink.h"

struct connection {
	int fd;
	struct buffer in; /* received and not used yet; after an upgraded call's reply: raw frames */
	size_t seen;      /* bytes of it known to hold no NUL */
	int passed;       /* the descriptor that came with a reply, the last one; -1 */
};

#define CONNECTION_INIT                                                                                                \
	{                                                                                                              \
		.fd = -1, .passed = -1, .in = BUFFER_INIT(LIMIT_MESSAGE)                                               \
	}

/* *ret is CONNECTION_INIT on entry. 0, or -errno with *e filled (what to do when there is no daemon, say). */
int connection_open(const char *path, struct connection *ret, struct error *e);
void connection_done(struct connection *c);
#define _cleanup_connection_ __attribute__((cleanup(connection_done)))

/* Sends a whole message; the descriptors travel with its first byte and remain the caller's. */
int connection_send(struct connection *c, const struct buffer *message, const int *fds, size_t n_fds, struct error *e);

/* One read into .in. Returns its length, 0 at end of file, -EAGAIN, -errno. */
long connection_fill(struct connection *c);

/* A reply from what is there already: 1, 0 = more bytes are needed, -errno with *e filled. */
int connection_next(struct connection *c, struct json_document *doc, struct varlink_reply *ret, struct error *e);

/* Waits for a reply. timeout_ms: for each piece of it; -1 = for ever. */
int connection_wait(struct connection *c, int timeout_ms, struct json_document *doc, struct varlink_reply *ret,
		    struct error *e);

/* Fills *e for a reply that is an error and returns -errno; 0 for one that is none. */
int connection_check(const struct varlink_reply *reply, struct error *e);

/* The one sentence for a connection that ended too early. Returns -ECONNRESET. */
int connection_lost(struct error *e);

#endif
