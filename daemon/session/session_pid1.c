/* What pid 1 of the session hands over and says. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/session/session_state.h"

static void fail(struct session *s, const char *what, int r)
{
	log_error("cannot serve %s: %s", what, strerror(-r));
	session_exited(s, EXIT_KIND_LOST, 0);
	session_finish(s);
}

static void on_listeners(void *data, const int fds[LISTENER_COUNT])
{
	struct session *s = data;
	int r = network_open(&s->network, &s->loop, s->setup, s->names, control_events(s->control), s->link, fds);

	if (r < 0 && s->state == RUNNING)
		fail(s, "the session's network", r);
}

static void on_pty(void *data, int master)
{
	struct session *s = data;
	int r = s->console && s->state == RUNNING ? console_set_pty(s->console, master, s->record) : -EPROTO;

	if (r < 0) {
		fd_close(master);
		fail(s, "the session's terminal", r);
	}
}

static int open_agent(struct session *s, uint32_t type, int listener)
{
	const struct session_setup *u = s->setup;
	struct events *events = control_events(s->control);

	if (s->state == RUNNING && type == LINK_SSH && u->ssh && !s->ssh)
		return u->ssh->open(&s->loop, &u->lent, events, s->link, listener, &s->ssh);
	if (s->state == RUNNING && type == LINK_GPG && u->gpg && !s->gpg)
		return gpg_agent_open(&s->loop, u->gpg, events, s->link, listener, &s->gpg);
	return -EPROTO;
}

static void on_agent(void *data, uint32_t type, int listener)
{
	struct session *s = data;

	if (open_agent(s, type, listener) == 0)
		return;
	log_error("cannot serve the session's %s", type == LINK_SSH ? "ssh-agent" : "gpg-agent");
	fd_close(listener);
	session_exited(s, EXIT_KIND_LOST, 0);
	session_finish(s);
}

static void on_port(void *data, int listener, uint32_t way, uint16_t to)
{
	struct session *s = data;
	int r = network_add_port(&s->network, &s->loop, s->setup, control_events(s->control), s->link, listener, way,
				 to);

	if (r < 0)
		fail(s, "a port", r);
}

static void on_socket(void *data, uint32_t query, int fd)
{
	struct session *s = data;

	ports_socket(s->network.ports, query, fd);
}

static void on_unix_socket(void *data, const struct link_message *m, int fd)
{
	struct session *s = data;
	int r = network_add_unix(&s->network, &s->loop, control_events(s->control), s->link, m, fd);

	if (r < 0)
		fail(s, "a Unix socket", r);
}

static void on_link_status(void *data, const struct link_message *m)
{
	struct session *s = data;
	struct events *events = control_events(s->control);

	switch (m->type) {
	case LINK_STARTED:
		events_status(events, SESSION_STARTED, 0, m->value);
		break;
	case LINK_STOPPED:
		events_status(events, SESSION_STOPPED, 0, m->value);
		if (s->console)
			console_stopped(s->console, (uint32_t)m->value);
		break;
	case LINK_CONTINUED:
		events_status(events, SESSION_CONTINUED, 0, 0);
		break;
	case LINK_EXITED:
		session_exited(s, m->kind, m->value);
		break;
	}
}

static void on_link_late(void *data, const struct late_event *event)
{
	struct session *s = data;

	events_late(control_events(s->control), event);
	if (s->console)
		console_late(s->console, event);
}

static void on_link_ended(void *data, int err)
{
	struct session *s = data;

	if (err < 0)
		log_error("pid 1 of the session broke the protocol: %s", strerror(-err));
	session_exited(s, s->ending_kind ? s->ending_kind : (uint32_t)EXIT_KIND_LOST, s->ending_value);
	if (err < 0)
		session_finish(s);
}

const struct link_handlers session_pid1 = {
	.listeners = on_listeners,
	.pty = on_pty,
	.agent = on_agent,
	.status = on_link_status,
	.late = on_link_late,
	.ended = on_link_ended,
	.port = on_port,
	.socket = on_socket,
	.unix_socket = on_unix_socket,
};
