#include "daemon/control/audit/log_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/connection.h"
#include "daemon/control/session.h"
#include "json/write.h"

#define CHUNK (64U << 10)
/* Longer than any line of the log (audit_event.c). */
#define LINE_MAX_BYTES (256U << 10)

int log_reader_new(struct connection *c, struct session *s, int fd, bool follow)
{
	struct log_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		fd_close(fd);
		return -ENOMEM;
	}
	r->session = s;
	r->connection = c;
	r->fd = fd;
	r->follow = follow;
	r->in.max = r->held.max = LINE_MAX_BYTES;
	LIST_INSERT_HEAD(&s->readers, r, entry);
	c->reader = r;
	return 0;
}

static void leave_session(struct log_reader *r)
{
	if (r->session)
		LIST_REMOVE(r, entry);
	r->session = NULL;
}

void log_reader_detach(struct log_reader *r)
{
	if (!r)
		return;
	leave_session(r);
	r->connection = NULL;
}

void log_reader_free(struct log_reader *r)
{
	if (!r)
		return;
	log_reader_detach(r);
	r->fd = fd_close(r->fd);
	buffer_done(&r->in);
	buffer_done(&r->held);
	free(r);
}

static void send_line(struct log_reader *r, bool last)
{
	struct json_writer *w = connection_reply_begin(r->connection, !last);

	if (w) {
		json_write_key(w, "line");
		json_write_bytes(w, r->held.data ? r->held.data : "", r->held.len);
	}
	r->held.len = 0;
	r->has_held = false;
	connection_reply_end(r->connection, w);
}

/* The next whole line goes to .held; one that was held is sent first. False where there is none. */
static bool next_line(struct log_reader *r)
{
	const char *end = r->in.len > 0 ? memchr(r->in.data, '\n', r->in.len) : NULL;
	size_t len;

	if (!end)
		return false;
	len = (size_t)(end - r->in.data);
	if (r->has_held)
		send_line(r, false);
	if (!r->connection || buffer_append(&r->held, r->in.data, len) < 0)
		return false;
	r->has_held = true;
	buffer_consume(&r->in, len + 1);
	return true;
}

static ssize_t read_more(struct log_reader *r)
{
	ssize_t n;

	if (buffer_reserve(&r->in, CHUNK) < 0)
		return 0;
	do
		n = read(r->fd, r->in.data + r->in.len, CHUNK);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		r->in.len += (size_t)n;
	return n;
}

/* At the end of what is written so far. */
static void at_end(struct log_reader *r)
{
	const struct session *s = r->session;

	/* Between the exit and the last event of a session only its last line is kept back: it may be the very last. */
	if (s && !s->gone && r->follow) {
		if (r->has_held && s->state != SESSION_ENDED)
			send_line(r, false);
		return;
	}
	leave_session(r);
	send_line(r, true);
}

void log_reader_pump(struct log_reader *r)
{
	/* Sending may call back in here once the socket has taken all. */
	if (r->running)
		return;
	r->running = true;
	while (r->connection && r->connection->reader == r && !connection_is_full(r->connection)) {
		struct connection *c = r->connection;
		ssize_t n;

		if (next_line(r))
			continue;
		n = r->connection ? read_more(r) : 0;
		if (n > 0 || !r->connection)
			continue;
		at_end(r);
		if (r->session || !r->connection)
			break;
		c->reader = NULL;
		connection_call_done(c);
		log_reader_free(r);
		return;
	}
	r->running = false;
}

void log_readers_wake(struct session *s)
{
	struct log_reader *r = LIST_FIRST(&s->readers), *next;

	for (; r; r = next) {
		next = LIST_NEXT(r, entry);
		log_reader_pump(r);
	}
}

void log_readers_detach(struct session *s)
{
	struct log_reader *r;

	while ((r = LIST_FIRST(&s->readers))) {
		leave_session(r);
		log_reader_pump(r);
	}
}
