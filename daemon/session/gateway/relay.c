#include "daemon/session/gateway/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/descriptor_reserve.h"

enum {
	SPLICE_AFTER = 256 << 10, /* a pipe costs about 20 us, as much as copying this much */
	PIPE_SIZE = 256 << 10,    /* counts against pipe-user-pages-soft: 256 of these fit its default */
	PIPE_MIN = 64 << 10,      /* beyond that the kernel gives two pages only, which is slower than copying */
	TURN = 1 << 20,           /* bytes in one turn, then others have theirs */
	TIGHT = 2 << 10,          /* read at once while buffers are short */
};

void relay_init(struct relay *r, struct watch *from, struct watch *to, struct http_body *body)
{
	*r = (struct relay){ .from = from, .to = to, .body = body, .pipe = { -1, -1 } };
}

static void close_pipe(struct relay *r)
{
	r->pipe[0] = fd_close(r->pipe[0]);
	r->pipe[1] = fd_close(r->pipe[1]);
}

static void drop_pending(struct relay *r)
{
	free(r->pending);
	r->pending = NULL;
	r->pending_at = r->pending_len = r->pending_size = 0;
}

void relay_done(struct relay *r)
{
	drop_pending(r);
	close_pipe(r);
	r->in_pipe = 0;
}

bool relay_is_blocked(const struct relay *r)
{
	return r->pending_len > r->pending_at || r->in_pipe > 0;
}

static int keep_pending(struct relay *r, const char *data, size_t len)
{
	size_t held = r->pending_len - r->pending_at;

	if (held + len > r->pending_size - r->pending_at) {
		char *bigger = malloc(held + len);

		if (!bigger)
			return -ENOMEM;
		if (held > 0)
			memcpy(bigger, r->pending + r->pending_at, held);
		free(r->pending);
		r->pending = bigger;
		r->pending_at = 0;
		r->pending_len = held;
		r->pending_size = held + len;
	}
	memcpy(r->pending + r->pending_len, data, len);
	r->pending_len += len;
	return 0;
}

/* .to takes no more, ever: the peer reset it or closed its reading side. */
static void fail(struct relay *r)
{
	relay_done(r);
	r->failed = true;
	r->finished = true;
}

/* Bytes written; 0 when blocked or failed. */
static size_t write_some(struct relay *r, const char *data, size_t len)
{
	ssize_t n = send(r->to->fd, data, len, MSG_NOSIGNAL);

	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			r->to->writable = errno == EINTR;
		else
			fail(r);
		return 0;
	}
	if ((size_t)n < len)
		r->to->writable = false;
	r->bytes += (uint64_t)n;
	return (size_t)n;
}

int relay_push(struct relay *r, const void *data, size_t len)
{
	size_t n = 0;

	if (r->finished || len == 0)
		return 0;
	if (!relay_is_blocked(r) && r->to->writable)
		n = write_some(r, data, len);
	if (r->failed || n == len)
		return 0;
	return keep_pending(r, (const char *)data + n, len - n);
}

bool relay_flush(struct relay *r)
{
	while (r->pending_len > r->pending_at) {
		if (!r->to->writable)
			return false;
		r->pending_at += write_some(r, r->pending + r->pending_at, r->pending_len - r->pending_at);
		if (r->failed)
			return false;
	}
	if (r->pending)
		drop_pending(r);
	while (r->in_pipe > 0) {
		ssize_t n;

		if (!r->to->writable)
			return false;
		n = splice(r->pipe[0], NULL, r->to->fd, NULL, r->in_pipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n <= 0) {
			if (n < 0 && errno != EAGAIN && errno != EINTR) {
				fail(r);
				return false;
			}
			r->to->writable = false;
			return false;
		}
		r->in_pipe -= (size_t)n;
		r->bytes += (uint64_t)n;
	}
	return true;
}

static bool use_pipe(struct relay *r)
{
	if (r->pipe[0] >= 0)
		return true;
	if (r->no_pipe || r->bytes < SPLICE_AFTER || (r->body && r->body->kind == HTTP_BODY_CHUNKED))
		return false;
	/* Out of descriptors or over the limit of pipe pages: copying works as well. */
	r->no_pipe = true;
	if (pipe2(r->pipe, O_NONBLOCK | O_CLOEXEC) < 0) {
		r->pipe[0] = r->pipe[1] = -1;
		return false;
	}
	if (descriptor_is_reserved(r->pipe[0]) || descriptor_is_reserved(r->pipe[1])) {
		close_pipe(r);
		return false;
	}
	if (fcntl(r->pipe[1], F_SETPIPE_SZ, PIPE_SIZE) < 0 && fcntl(r->pipe[1], F_GETPIPE_SZ) < PIPE_MIN) {
		close_pipe(r);
		return false;
	}
	return true;
}

static void end_of_input(struct relay *r, bool broken)
{
	r->eof = true;
	if (broken || (r->body && r->body->kind != HTTP_BODY_CLOSE))
		r->broken = true;
}

size_t relay_room(const struct relay *r, size_t max)
{
	uint64_t left = r->budget ? budget_left(r->budget, r->accounts, r->direction) : UINT64_MAX;

	return left == 0 ? 1 : left < max ? (size_t)left : max;
}

void relay_take(struct relay *r, size_t bytes)
{
	if (r->budget)
		budget_take(r->budget, r->accounts, r->direction, bytes);
}

bool relay_is_spent(const struct relay *r)
{
	char byte;

	/* The end, or an error, is still to be read. */
	return r->budget && budget_left(r->budget, r->accounts, r->direction) == 0 &&
	       recv(r->from->fd, &byte, 1, MSG_PEEK) > 0;
}

/* What may be read at once: never past a frame whose length is known. */
static size_t room(const struct relay *r, size_t max)
{
	max = relay_room(r, max);
	if (r->body && r->body->kind == HTTP_BODY_LENGTH && r->body->left < max)
		return (size_t)r->body->left;
	return max;
}

static size_t splice_in(struct relay *r)
{
	ssize_t n = splice(r->from->fd, NULL, r->pipe[1], NULL, room(r, PIPE_SIZE), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0) {
		if (errno == EAGAIN)
			r->from->readable = false;
		else if (errno != EINTR)
			end_of_input(r, true);
		return 0;
	}
	if (n == 0) {
		end_of_input(r, r->from->cut);
		return 0;
	}
	if (r->body)
		http_body_skip(r->body, (size_t)n);
	relay_take(r, (size_t)n);
	r->in_pipe = (size_t)n;
	return (size_t)n;
}

static size_t copy_in(struct relay *r, char *scratch, const char **ret_excess, size_t *ret_excess_len, bool *bad)
{
	size_t max = room(r, r->tight ? TIGHT : RELAY_SCRATCH);
	ssize_t n = recv(r->from->fd, scratch, max, 0), used;

	if (n < 0) {
		if (errno == EAGAIN)
			r->from->readable = false;
		else if (errno != EINTR)
			end_of_input(r, true);
		return 0;
	}
	if (n == 0) {
		end_of_input(r, r->from->cut);
		return 0;
	}
	/* A short read means that nothing is left, unless the end has been announced. */
	if ((size_t)n < max && !r->from->peer_shut)
		r->from->readable = false;
	used = r->body ? http_body_feed(r->body, scratch, (size_t)n) : n;
	if (used < 0) {
		*bad = true;
		return 0;
	}
	*ret_excess = scratch + used;
	*ret_excess_len = (size_t)(n - used);
	/* The excess of a request begins another one, which is counted when it is sent. */
	relay_take(r, (size_t)used);
	if (relay_push(r, scratch, (size_t)used) < 0)
		fail(r);
	return (size_t)n;
}

static enum relay_result finish(struct relay *r)
{
	r->finished = true;
	if (r->eof && !r->body && !r->failed && !r->is_last && shutdown(r->to->fd, SHUT_WR) < 0)
		r->failed = true;
	relay_done(r);
	return RELAY_DONE;
}

enum relay_result relay_run(struct relay *r, char scratch[RELAY_SCRATCH], const char **ret_excess,
			    size_t *ret_excess_len)
{
	size_t moved = 0;
	bool bad = false;

	*ret_excess_len = 0;
	for (;;) {
		if (r->finished)
			return RELAY_DONE;
		if (!relay_flush(r)) {
			if (r->failed)
				return RELAY_DONE;
			/* A peer that is gone for good never becomes writable again. */
			if (r->to->hangup) {
				fail(r);
				return RELAY_DONE;
			}
			return RELAY_WAIT;
		}
		if (r->eof || (r->body && r->body->done))
			return finish(r);
		if (!r->from->readable)
			break;
		if (moved >= TURN)
			return RELAY_AGAIN;
		if (relay_is_spent(r))
			return RELAY_SPENT;
		if (use_pipe(r))
			moved += splice_in(r);
		else
			moved += copy_in(r, scratch, ret_excess, ret_excess_len, &bad);
		if (bad) {
			r->finished = true;
			return RELAY_BAD;
		}
	}
	/* Nobody reads the other end any more. */
	if (r->to->hangup) {
		fail(r);
		return RELAY_DONE;
	}
	return RELAY_WAIT;
}
