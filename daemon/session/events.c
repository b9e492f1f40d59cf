#include "daemon/session/events.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd_pass.h"
#include "daemon/session/record_mark.h"

/* Room beyond .max that only a status may use: start, exit and some stops. */
#define STATUS_ROOM 64

enum { SENT_AT_ONCE = 32 };

struct event {
	STAILQ_ENTRY(event) link;
	size_t len;
	char packet[];
};

STAILQ_HEAD(event_list, event);

struct events {
	struct event_list queue;
	size_t count;
	size_t max;
	uint64_t lost;         /* since the last SESSION_LOST */
	struct record *record; /* NULL: none */
	void (*wake)(void *data);
	void *data;
};

struct events *events_new(size_t max, void (*wake)(void *data), void *data)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	STAILQ_INIT(&e->queue);
	e->max = max;
	e->wake = wake;
	e->data = data;
	return e;
}

void events_free(struct events *e)
{
	struct event *event;

	if (!e)
		return;
	while ((event = STAILQ_FIRST(&e->queue))) {
		STAILQ_REMOVE_HEAD(&e->queue, link);
		free(event);
	}
	free(e);
}

static int push(struct events *e, const void *packet, size_t len, size_t max)
{
	struct event *event;

	if (e->count >= max)
		return -ENOBUFS;
	event = malloc(sizeof(*event) + len);
	if (!event)
		return -ENOMEM;
	event->len = len;
	memcpy(event->packet, packet, len);
	STAILQ_INSERT_TAIL(&e->queue, event, link);
	e->count++;
	return 0;
}

static struct session_status lost_message(uint64_t lost)
{
	return (struct session_status){ .type = SESSION_LOST, .value = lost > INT32_MAX ? INT32_MAX : (int32_t)lost };
}

/* The gap is told where it is: after what was queued before it, before what comes now. */
static int push_after_gap(struct events *e, const void *packet, size_t len, size_t max)
{
	if (e->lost > 0) {
		struct session_status gap = lost_message(e->lost);
		int r = e->count + 1 < max ? push(e, &gap, sizeof(gap), max) : -ENOBUFS;

		if (r < 0)
			return r;
		e->lost = 0;
	}
	return push(e, packet, len, max);
}

static void wake(struct events *e)
{
	if (e->wake)
		e->wake(e->data);
}

void events_record(struct events *e, struct record *record)
{
	e->record = record;
}

void events_allowed(struct events *e, const char *name, uint16_t port)
{
	record_mark_allowed(e->record, name, port);
}

void events_lost(struct events *e, uint64_t n)
{
	e->lost += n;
	wake(e);
}

_Static_assert(SESSION_PROGRAM_MAX == LATE_PROGRAM_MAX, "one escaping for both");

static void escape_program(char ret[SESSION_PROGRAM_MAX], const char *program)
{
	size_t n = 0, len = strnlen(program, SESSION_PROGRAM_MAX);

	for (size_t i = 0; i < len; i++) {
		unsigned char c = program[i];
		char text[5] = { (char)c };

		if (c < 0x20 || c > 0x7e)
			snprintf(text, sizeof(text), "\\x%02x", c);
		if (n + strlen(text) >= SESSION_PROGRAM_MAX)
			break;
		memcpy(ret + n, text, strlen(text));
		n += strlen(text);
	}
	memset(ret + n, 0, SESSION_PROGRAM_MAX - n);
}

void events_connection(struct events *e, const struct session_connection *c)
{
	struct session_connection copy = *c;

	if (copy.type == 0)
		copy.type = c->via == VIA_DNS      ? SESSION_DNS_DENIED
			    : c->via == VIA_PACKET ? SESSION_PACKET
						   : SESSION_CONNECTION;
	if (copy.count == 0)
		copy.count = 1;
	escape_program(copy.program, c->program);
	record_mark_connection(e->record, &copy);
	if (push_after_gap(e, &copy, sizeof(copy), e->max) < 0)
		e->lost += copy.count;
	wake(e);
}

void events_status(struct events *e, uint32_t type, uint32_t kind, int32_t value)
{
	struct session_status status = { .type = type, .kind = kind, .value = value };

	if (type != SESSION_EXITED) /* which is marked earlier */
		record_mark_status(e->record, type, kind, value);
	/* A program can stop itself without end; the exit alone must always fit. */
	if (push_after_gap(e, &status, sizeof(status), type == SESSION_EXITED ? SIZE_MAX : e->max + STATUS_ROOM) < 0)
		e->lost++;
	wake(e);
}

void events_late(struct events *e, const struct late_event *event)
{
	struct late_event copy;

	memcpy(&copy, event, late_event_size(event));
	copy.type = SESSION_LATE;
	escape_program(copy.program, event->program);
	record_mark_late(e->record, &copy);
	if (push_after_gap(e, &copy, late_event_size(&copy), e->max) < 0)
		e->lost += copy.kind == LATE_MORE ? copy.count : 1;
	wake(e);
}

void events_agent(struct events *e, const struct session_agent *s)
{
	struct session_agent copy = *s;

	escape_program(copy.program, s->program);
	record_mark_agent(e->record, &copy);
	if (push_after_gap(e, &copy, sizeof(copy), e->max) < 0)
		e->lost += copy.count;
	wake(e);
}

void events_question(struct events *e, const struct session_question *q)
{
	struct session_question copy = *q;

	copy.type = SESSION_ASKED;
	escape_program(copy.program, q->program);
	if (push_after_gap(e, &copy, sizeof(copy), e->max + STATUS_ROOM) < 0)
		e->lost++;
	wake(e);
}

void events_budget(struct events *e, uint32_t account, uint32_t direction, uint64_t limit, uint32_t generation)
{
	const struct session_budget m = { .type = SESSION_BUDGET,
					  .account = account,
					  .generation = generation,
					  .direction = direction,
					  .limit = limit };

	record_mark_budget(e->record, account, direction, limit);
	if (push_after_gap(e, &m, sizeof(m), e->max + STATUS_ROOM) < 0)
		e->lost++;
	wake(e);
}

void events_last(struct events *e, uint32_t stream, const char *data, size_t n)
{
	struct session_last m = { .type = SESSION_LAST, .stream = stream, .len = (uint32_t)n };

	memcpy(m.data, data, n);
	if (push_after_gap(e, &m, offsetof(struct session_last, data) + n, e->max + STATUS_ROOM) < 0)
		e->lost++;
	wake(e);
}

void events_usage(struct events *e, const struct session_usage *usage)
{
	struct session_usage copy = *usage;

	copy.type = SESSION_USAGE;
	if (e->lost == 0)
		push(e, &copy, offsetof(struct session_usage, bytes) + copy.n * sizeof(copy.bytes[0]), e->max);
	wake(e);
}

/* The first ones of the queue in one call. How many were sent, or -errno. */
static int send_some(struct events *e, int sock)
{
	struct mmsghdr messages[SENT_AT_ONCE];
	struct iovec parts[SENT_AT_ONCE];
	struct event *event;
	unsigned n = 0;
	int r;

	STAILQ_FOREACH(event, &e->queue, link)
	{
		if (n == SENT_AT_ONCE)
			break;
		parts[n] = (struct iovec){ event->packet, event->len };
		messages[n] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[n], .msg_iovlen = 1 } };
		n++;
	}
	do
		r = sendmmsg(sock, messages, n, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

int events_flush(struct events *e, int sock)
{
	struct event *event;

	while (!STAILQ_EMPTY(&e->queue)) {
		int n = send_some(e, sock);

		if (n < 0)
			return n;
		while (n-- > 0) {
			event = STAILQ_FIRST(&e->queue);
			STAILQ_REMOVE_HEAD(&e->queue, link);
			e->count--;
			free(event);
		}
	}
	if (e->lost > 0) {
		struct session_status gap = lost_message(e->lost);
		ssize_t r = fd_pass_send(sock, &gap, sizeof(gap), NULL, 0);

		if (r < 0)
			return (int)r;
		e->lost = 0;
	}
	return 0;
}

bool events_pending(const struct events *e)
{
	return e->count > 0 || e->lost > 0;
}
