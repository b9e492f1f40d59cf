#ifndef ISOD_SESSION_GATEWAY_RELAY_H
#define ISOD_SESSION_GATEWAY_RELAY_H
/*
 * One direction of a connection: bytes from one socket to another, with back-pressure. Small amounts are copied through
 * a buffer that all connections share, so a quiet tunnel owns no buffer at all; after the first 256 KiB bytes go
 * through a pipe with splice(2). A framed direction (an HTTP body) stops at the end of its frame.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/session/gateway/budget.h"
#include "daemon/session/gateway/http_body.h"
#include "daemon/session/gateway/poller.h"

#define RELAY_SCRATCH (64U << 10)

struct relay {
	struct watch *from;
	struct watch *to;
	struct http_body *body; /* NULL: everything until end of file, which is passed on as SHUT_WR */
	char *pending;          /* taken, not yet accepted by .to */
	size_t pending_at, pending_len, pending_size;
	size_t in_pipe;
	int pipe[2]; /* -1: none */
	bool no_pipe;
	bool tight;            /* read little at once, since what .to does not take is kept */
	bool eof;              /* .from has ended */
	bool broken;           /* .from ended by an error, or in the middle of a frame */
	bool finished;         /* nothing more to do, after success or failure */
	bool failed;           /* .to takes no more: what remained was dropped */
	bool is_last;          /* .to is closed right after the end of .from, which tells it as well as SHUT_WR */
	uint64_t bytes;        /* accepted by .to since relay_init() */
	struct budget *budget; /* what is read is taken from .accounts of it; NULL: nobody counts */
	uint64_t accounts;
	enum egress_direction direction;
};

enum relay_result {
	RELAY_WAIT,  /* until a socket is ready again */
	RELAY_AGAIN, /* its share of this turn is used up */
	RELAY_DONE,  /* finished: .eof, .broken, .failed or the body's end say how */
	RELAY_BAD,   /* the frame is malformed; nothing of the bad part was passed on */
	RELAY_SPENT, /* .from has more, and the budget has no byte left for it */
};

void relay_init(struct relay *r, struct watch *from, struct watch *to, struct http_body *body);
void relay_done(struct relay *r);

/* Bytes of our own or read before: ahead of everything that is read later. -ENOMEM. Not for data in scratch that the
 * caller still needs: a write error is not reported here but by relay_run(). */
int relay_push(struct relay *r, const void *data, size_t len);

/* excess: what was read past the end of the frame, a part of scratch, valid until its next use. */
enum relay_result relay_run(struct relay *r, char scratch[RELAY_SCRATCH], const char **ret_excess,
			    size_t *ret_excess_len);

/* At most max bytes, and no more than the budget has left, but at least one: see relay_is_spent(). */
size_t relay_room(const struct relay *r, size_t max);
/* Takes bytes that were read, or are about to be pushed, from the budget. */
void relay_take(struct relay *r, size_t bytes);
/* Has .from bytes that the budget has no room for? */
bool relay_is_spent(const struct relay *r);

/* Writes what can be written now; true when nothing is left. Sets .failed. */
bool relay_flush(struct relay *r);
/* True while bytes wait to be taken by .to */
bool relay_is_blocked(const struct relay *r);

#endif
