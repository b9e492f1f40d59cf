#include "daemon/control/method/run_reply.h"

#include <string.h>

#include "daemon/control/connection.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "json/write.h"

static void write_notes(const struct session *s, struct json_writer *w)
{
	json_write_key(w, "notes");
	json_write_array(w);
	for (size_t i = 0; i < s->notes.count; i++)
		json_write_bytes(w, s->notes.items[i], strlen(s->notes.items[i]));
	json_write_array_end(w);
}

/* What may be reached, for the banner. A long list would only be counted there. */
static void write_network(const struct session *s, struct json_writer *w)
{
	const struct policy_list *l = &s->policy.allowed_domains;

	json_write_key(w, "network");
	json_write_array(w);
	for (size_t i = 0; i < l->count && i < 1000; i++)
		json_write_string(w, l->items[i].text);
	json_write_array_end(w);
}

void run_reply_started(struct session *s)
{
	struct connection *c = s->client;
	struct json_writer *w;

	if (s->detached) { /* whatever becomes of the connection now */
		s->client = NULL;
		c->session = NULL;
	}
	w = connection_reply_begin(c, !s->terminal && !s->detached);

	if (w) {
		json_write_member_string(w, "event", "started");
		json_write_key(w, "session");
		session_write(s, w);
		write_notes(s, w);
		write_network(s, w);
	}
	connection_reply_end(c, w);
	if (s->detached)
		connection_call_done(c);
	else if (s->client && s->terminal)
		connection_lend(c);
}

void run_reply_failed(struct session *s, const struct error *e)
{
	struct connection *c = s->client;

	s->client = NULL;
	c->session = NULL;
	connection_reply_error(c, e);
	connection_call_done(c);
}

void run_reply_exited(struct session *s)
{
	struct connection *c = s->client;
	struct json_writer *w;

	/* With a terminal the last frame of the helper has told it. */
	if (s->terminal)
		return;
	s->client = NULL;
	c->session = NULL;
	if (s->exit_kind == EXIT_KIND_LOST) {
		struct error e = ERROR_INIT;

		error_set(&e, ERROR_SANDBOX_UNAVAILABLE, 0, "session", "See isod's log.",
			  "The session's helper ended, and the session with it.");
		connection_reply_error(c, &e);
		connection_call_done(c);
		return;
	}
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_member_string(w, "event", "exited");
		json_write_key(w, "session");
		session_write(s, w);
		late_write_made(s, w);
	}
	connection_reply_end(c, w);
	connection_call_done(c);
}

void run_reply_gone(struct session *s)
{
	struct connection *c = s->client;

	s->client = NULL;
	c->session = NULL;
	connection_drop(c);
}
