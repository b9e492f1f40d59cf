#include "daemon/control/session_last.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/control/connection.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "daemon/wire/session_wire.h"
#include "proto/stream.h"

#define DAY_MS (24 * 3600 * 1000LL)

int session_last_add(struct session *s, const struct session_last *piece, size_t n)
{
	const size_t head = offsetof(struct session_last, data);

	if (n < head || piece->len > sizeof(piece->data) || n != head + piece->len || piece->len == 0 ||
	    (piece->stream != STREAM_STDOUT && piece->stream != STREAM_STDERR))
		return -EBADMSG;
	s->last.max = LIMIT_LAST_SCREEN;
	/* What does not fit is more than isod-session sends. */
	return stream_append(&s->last, (uint8_t)piece->stream, piece->data, piece->len) < 0 ? -EBADMSG : 0;
}

void session_last_forget(struct session *s)
{
	buffer_done(&s->last);
	s->has_last = false;
}

void session_last_send(struct session *s, struct connection *c)
{
	int r = buffer_append(&c->out, s->last.data, s->last.len);

	if (r == 0)
		r = stream_append_u32_u32(&c->out, STREAM_EXIT, s->exit_kind, (uint32_t)s->exit_value);
	if (r < 0) {
		connection_drop(c);
		return;
	}
	if (c->uid == s->uid)
		session_last_forget(s);
	connection_close_after_reply(c);
}

void session_last_trim(struct session *s)
{
	int64_t now = timestamp_now();
	struct session *other;
	unsigned own = 0, all = 0;

	/* An empty screen is one, too: the exit code is read with it. */
	s->has_last = s->detached || s->last.len > 0;
	LIST_FOREACH (other, &s->control->registry.ended, entry) {
		if (!other->has_last)
			continue;
		all++;
		own += other->uid == s->uid;
		if (all > LIMIT_LAST || (other->uid == s->uid && own > LIMIT_LAST_PER_UID) ||
		    now - other->ended > DAY_MS)
			session_last_forget(other);
	}
}
