#include "daemon/proxy/proxy_events.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/control/audit/audit_line.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/session/events.h"
#include "daemon/session/dns/names.h"
#include "json/write.h"
#include "policy/policy_digest.h"

#define LINE_MAX_BYTES (64U << 10)

static struct json_writer *begin(struct buffer *line, const char *event)
{
	struct json_writer *w = json_write_new(line);
	char time[TIMESTAMP_SIZE];

	if (!w)
		return NULL;
	json_write_object(w);
	json_write_member_string(w, "time", timestamp_format(timestamp_now(), time));
	json_write_member_integer(w, "uid", getuid());
	json_write_member_string(w, "event", event);
	return w;
}

/* Nobody who reads slowly holds the gateway up: a pipe that is writable takes a page at once. */
static bool is_writable(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLOUT);
}

static void end(struct json_writer *w, struct buffer *line)
{
	json_write_object_end(w);
	if (json_write_finish(w) == 0 && buffer_append_string(line, "\n") == 0)
		(void)fd_write_full(STDERR_FILENO, line->data, line->len);
}

static void tell_gap(struct events *e)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = begin(&line, "events.lost");

	if (!w)
		return;
	json_write_member_integer(w, "count", (int64_t)e->lost);
	end(w, &line);
	e->lost = 0;
}

void proxy_events_start(struct events *e, uint16_t port)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = begin(&line, "gateway.start");
	char digest[65];

	if (!w)
		return;
	json_write_member_string(w, "address", "127.0.0.1");
	json_write_member_integer(w, "port", port);
	json_write_member_integer(w, "pid", getpid());
	if (policy_digest(e->policy, digest) == 0)
		json_write_member_string(w, "policy", digest);
	end(w, &line);
}

void events_connection(struct events *e, const struct session_connection *c)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct session_connection m = *c;
	struct json_writer *w;

	m.type = SESSION_CONNECTION;
	if (e->lost > 0 && is_writable())
		tell_gap(e);
	w = e->lost == 0 && is_writable() ? begin(&line, audit_line_event(m.type)) : NULL;
	if (!w) {
		e->lost++;
		return;
	}
	audit_line_write_connection(w, &m, e->policy);
	end(w, &line);
}

/* Its policy never asks. */
void events_question(struct events *e, const struct session_question *q)
{
	(void)e;
	(void)q;
}

void events_budget(struct events *e, uint32_t account, uint32_t direction, uint64_t limit, uint32_t generation)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = is_writable() ? begin(&line, "budget") : NULL;

	if (!w) {
		e->lost++;
		return;
	}
	audit_line_write_budget(w, account, direction, limit, e->policy);
	end(w, &line);
}

void events_allowed(struct events *e, const char *name, uint16_t port) {}

void events_usage(struct events *e, const struct session_usage *usage) {}

void events_lost(struct events *e, uint64_t n)
{
	e->lost += n;
}

/* No rule is for one connection here. */
void events_status(struct events *e, uint32_t type, uint32_t kind, int32_t value) {}

/* Nothing is captured here, so no address was invented. */
const char *names_lookup(const struct names *n, int family, const uint8_t address[16])
{
	return NULL;
}

bool names_is_invented(int family, const uint8_t address[16])
{
	return false;
}
