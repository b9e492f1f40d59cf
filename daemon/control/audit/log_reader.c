#include "daemon/control/audit/log_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/audit/audit.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/control/connection.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "json/write.h"

#define CHUNK (64U << 10)
/* Reads in one turn of the loop, of which each file takes two: others wait no longer than some ten milliseconds. */
#define TURN_READS 128
/* Longer than any line of the log (audit_event.c). */
#define LINE_MAX_BYTES (256U << 10)

static int take_filter(struct log_reader *r, const struct log_filter *f)
{
	if (f->since > 0)
		timestamp_format(f->since, r->since);
	if (f->until > 0)
		timestamp_format(f->until, r->until);
	r->denied = f->denied;
	r->host = f->host ? strdup(f->host) : NULL;
	r->program = f->program ? strdup(f->program) : NULL;
	return (f->host && !r->host) || (f->program && !r->program) ? -ENOMEM : 0;
}

static struct log_reader *new_reader(struct connection *c, const struct log_filter *filter)
{
	struct log_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->fd = -1;
	r->in.max = r->held.max = LINE_MAX_BYTES;
	r->connection = c;
	if (take_filter(r, filter) == 0)
		return r;
	log_reader_free(r);
	return NULL;
}

int log_reader_new(struct connection *c, struct session *s, int fd, bool follow, const struct log_filter *filter)
{
	struct log_reader *r = new_reader(c, filter);

	if (!r) {
		fd_close(fd);
		return -ENOMEM;
	}
	r->session = s;
	r->fd = fd;
	r->follow = follow;
	LIST_INSERT_HEAD(&s->readers, r, entry);
	c->reader = r;
	return 0;
}

/* False: no line of it can be wanted. Of one that runs the index knows nothing yet. */
static bool may_have(const struct audit_entry *entry, const struct log_filter *f)
{
	if (entry->flags & AUDIT_ENTRY_REMOVED || (f->until > 0 && entry->started > f->until))
		return false;
	if (entry->flags & AUDIT_ENTRY_OPEN)
		return true;
	return (f->since == 0 || entry->ended >= f->since) && (!f->denied || entry->denied > 0) &&
	       (!f->host || audit_marks_may_have(entry->marks, f->host)) &&
	       (!f->program || audit_marks_may_have(entry->marks, f->program));
}

int log_reader_new_over_all(struct connection *c, const struct log_filter *filter)
{
	const struct audit_index *ix = &c->control->audit.index;
	struct log_reader *r = new_reader(c, filter);
	struct log_filter asked = *filter;

	if (!r)
		return -ENOMEM;
	r->keys = calloc(ix->n_entries + 1, sizeof(*r->keys));
	if (!r->keys) {
		log_reader_free(r);
		return -ENOMEM;
	}
	/* Below a name there may be any. */
	if (filter->host && filter->below)
		asked.host = NULL;
	for (size_t i = 0; i < ix->n_entries; i++)
		if ((c->uid == 0 || ix->entries[i].uid == c->uid) && may_have(&ix->entries[i], &asked))
			r->keys[r->n_keys++] = ix->entries[i].key;
	c->reader = r;
	return 0;
}

/* -1: it was the last, and stays open, since more may come where it is followed. One that was removed meanwhile is
 * passed over. */
static int open_next(struct log_reader *r)
{
	const int dir_fd = r->connection->control->audit.dir_fd;

	if (r->next_key == r->n_keys)
		return -1;
	r->fd = fd_close(r->fd);
	while (r->fd < 0 && r->next_key < r->n_keys) {
		const struct audit_entry entry = { .key = r->keys[r->next_key++] };
		char id[ISOD_ID_LEN + 1];

		audit_index_id(&entry, id);
		r->in.len = 0;
		r->fd = audit_open_for_reading(dir_fd, id);
	}
	return r->fd < 0 ? -1 : 0;
}

static bool has(const char *line, size_t len, const char *text)
{
	return memmem(line, len, text, strlen(text));
}

/* Such a text stands in a line as it is. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

static bool is_wanted(const struct log_reader *r, const char *line, size_t len)
{
	static const char head[] = "{\"time\":\"";
	const char *time = line + sizeof(head) - 1;
	const size_t n = TIMESTAMP_SIZE - 1;

	if (len > sizeof(head) + n && memcmp(line, head, sizeof(head) - 1) == 0 &&
	    ((r->since[0] && memcmp(time, r->since, n) < 0) || (r->until[0] && memcmp(time, r->until, n) > 0)))
		return false;
	if (r->denied && !has(line, len, "\"verdict\":\"deny\"") && !has(line, len, ".refused\"") &&
	    !has(line, len, ".denied\""))
		return false;
	return (!r->host || !is_plain(r->host) || has(line, len, r->host)) &&
	       (!r->program || !is_plain(r->program) || has(line, len, r->program));
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
	free(r->host);
	free(r->program);
	free(r->keys);
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
	const char *begin = r->in.data, *end;
	size_t len = 0;

	/* Those before it that are not wanted go with it. */
	while ((end = r->in.len > 0 ? memchr(begin, '\n', (size_t)(r->in.data + r->in.len - begin)) : NULL)) {
		len = (size_t)(end - begin);
		if (is_wanted(r, begin, len))
			break;
		begin = end + 1;
	}
	if (begin > r->in.data)
		buffer_consume(&r->in, (size_t)(begin - r->in.data));
	if (!end)
		return false;
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
	if (r->fd < 0)
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
	unsigned left = TURN_READS;

	/* Sending may call back in here once the socket has taken all. */
	if (r->running)
		return;
	r->running = true;
	while (r->connection && r->connection->reader == r && !connection_is_full(r->connection)) {
		struct connection *c = r->connection;
		ssize_t n;

		if (next_line(r))
			continue;
		if (left-- == 0) {
			connection_read_on(c);
			break;
		}
		n = r->connection ? read_more(r) : 0;
		if (n > 0 || !r->connection || open_next(r) == 0)
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
