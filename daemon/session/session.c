#include "daemon/session/session.h"

#include <errno.h>
#include <string.h>
#include <uv.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/session/attach.h"
#include "daemon/session/control.h"
#include "daemon/session/early.h"
#include "daemon/session/link.h"
#include "daemon/session/dns/names.h"
#include "daemon/session/network.h"
#include "daemon/session/pty.h"

/* Milliseconds: for a survivor that holds the terminal open, for a client that is still on its way, and for
 * isod-control to take the last events. */
#define GRACE 5000

/*
 * RUNNING   the program runs, or is about to. Everything may come.
 * EXITED    how it ended is known (.kind, .value). Output is still handed to the client; nothing new is asked of pid 1.
 * DRAINING  what the program has sent into the network goes out; nothing else is waited for.
 * FLUSHING  client, pty, link and gateway are closed; only events go out.
 * CLOSED    every handle is closing; the loop runs out.
 */
enum state { RUNNING, EXITED, DRAINING, FLUSHING, CLOSED };

struct session {
	enum state state;
	const struct session_setup *setup;
	uv_loop_t loop;
	uv_timer_t timer;
	struct control *control;
	struct link *link;
	struct names *names;
	struct network network;
	struct pty *pty;
	struct attach *attach;
	struct ssh_agent *ssh;
	struct gpg_agent *gpg;
	struct early early;
	bool had_client;
	bool drained;
	uint16_t rows, columns; /* to be set when the pty comes */
	uint64_t total;         /* attach_total() when the timer was last started */
	uint32_t kind;          /* enum exit_kind */
	int32_t value;
	uint32_t ending_kind; /* why isod-control ends the session, if it said so */
	int32_t ending_value;
};

static void close_all(struct session *s)
{
	if (s->state == CLOSED)
		return;
	s->state = CLOSED;
	control_close(s->control);
	uv_close((uv_handle_t *)&s->timer, NULL);
	uv_stop(&s->loop);
}

static void on_flush_timeout(uv_timer_t *timer)
{
	log_warning("isod-control does not take the last events");
	close_all(timer->data);
}

/* Closes everything but the channel for events. The gateway goes first: it reports its connections, and uses the link
 * and the names until its handles are closed. */
static void wind_up(struct session *s)
{
	network_close(&s->network);
	if (s->ssh)
		s->setup->ssh->close(s->ssh);
	if (s->gpg)
		gpg_agent_close(s->gpg);
	attach_close(s->attach);
	pty_close(s->pty);
	link_close(s->link);
	s->attach = NULL;
	s->pty = NULL;
}

static void on_drained(void *data)
{
	struct session *s = data;

	s->state = FLUSHING;
	wind_up(s);
	events_status(control_events(s->control), SESSION_EXITED, s->kind, s->value);
	uv_timer_start(&s->timer, on_flush_timeout, GRACE, 0);
}

static void finish(struct session *s)
{
	if (s->state >= DRAINING)
		return;
	s->state = DRAINING;
	uv_timer_stop(&s->timer);
	/* An end by force waits for nothing. */
	if (s->network.gateway && !s->ending_kind)
		gateway_drain(s->network.gateway, on_drained, s);
	else
		on_drained(s);
}

/* isod-control is gone: the session must not outlive it. */
static void abandon(struct session *s)
{
	if (s->attach)
		attach_exit(s->attach, s->state == EXITED ? s->kind : (uint32_t)EXIT_KIND_LOST, (uint32_t)s->value);
	if (s->state < FLUSHING)
		wind_up(s);
	close_all(s);
}

static void on_grace(uv_timer_t *timer)
{
	struct session *s = timer->data;

	if (!s->attach) {
		finish(s);
	} else if (attach_is_behind(s->attach) || attach_total(s->attach) != s->total) {
		/* It waits for the client, or output still flows: nobody is stuck. */
		s->total = attach_total(s->attach);
		uv_timer_start(timer, on_grace, GRACE, 0);
	} else {
		attach_exit(s->attach, s->kind, (uint32_t)s->value);
	}
}

static void on_exited(struct session *s, uint32_t kind, int32_t value)
{
	if (s->state != RUNNING)
		return;
	s->state = EXITED;
	s->kind = kind;
	s->value = value;
	/* Without a pty nobody waits here for output; a client that left needs none. Without a pty that was promised
	 * there will be no output. */
	if (!s->setup->has_pty || (s->had_client && !s->attach)) {
		finish(s);
		return;
	}
	if (s->attach && (s->drained || !s->pty)) {
		attach_exit(s->attach, kind, (uint32_t)value);
		return;
	}
	s->total = s->attach ? attach_total(s->attach) : 0;
	uv_timer_start(&s->timer, on_grace, GRACE, 0);
}

/* The client */

static void on_client_signal(void *data, uint32_t signal)
{
	struct session *s = data;

	link_send_signal(s->link, LINK_SIGNAL, (int32_t)signal);
}

static void on_client_resume(void *data)
{
	struct session *s = data;

	link_send_signal(s->link, LINK_CONTINUE, 0);
}

static void on_client_drained(void *data)
{
	struct session *s = data;

	s->drained = true;
	if (s->state == EXITED)
		attach_exit(s->attach, s->kind, (uint32_t)s->value);
}

static void on_client_gone(void *data, bool complete)
{
	struct session *s = data;

	attach_close(s->attach);
	s->attach = NULL;
	if (s->state == EXITED) {
		finish(s);
	} else if (s->state == RUNNING) {
		/* Its terminal is gone: what a program would see on any terminal. */
		pty_close(s->pty);
		s->pty = NULL;
		if (link_send_signal(s->link, LINK_HANGUP, 0) <
		    0) { /* pid 1 reads nothing: the end of the link ends it */
			on_exited(s, EXIT_KIND_LOST, 0);
			finish(s);
		}
	}
}

static const struct attach_handlers attach_handlers = {
	.signal = on_client_signal,
	.resume = on_client_resume,
	.drained = on_client_drained,
	.gone = on_client_gone,
};

/* The pty */

static void on_pty_readable(void *data)
{
	struct session *s = data;

	if (s->attach)
		attach_pty_readable(s->attach);
}

static void on_pty_writable(void *data)
{
	struct session *s = data;

	if (s->attach)
		attach_pty_writable(s->attach);
}

static const struct pty_handlers pty_handlers = { .readable = on_pty_readable, .writable = on_pty_writable };

/* isod-control */

static void on_attach(void *data, int client, uint16_t rows, uint16_t columns)
{
	struct session *s = data;
	int r;

	if (!s->setup->has_pty || s->had_client || s->state > EXITED) {
		log_warning("a client that this session cannot serve was turned away");
		fd_close(client);
		return;
	}
	r = attach_open(&s->loop, client, &attach_handlers, s, &s->attach);
	if (r < 0) {
		log_error("cannot serve the client: %s", strerror(-r));
		fd_close(client);
		finish(s);
		return;
	}
	s->had_client = true;
	early_tell(&s->early, s->attach);
	s->rows = rows;
	s->columns = columns;
	if (s->pty) {
		if (rows > 0 && columns > 0)
			pty_resize(s->pty, rows, columns);
		attach_set_pty(s->attach, s->pty);
	} else if (s->state == EXITED) {
		attach_exit(s->attach, s->kind, (uint32_t)s->value);
	}
}

static void on_signal(void *data, int32_t signal)
{
	struct session *s = data;

	if (s->state == RUNNING)
		link_send_signal(s->link, LINK_SIGNAL, signal);
}

static void on_ending(void *data, uint32_t kind, int32_t value)
{
	struct session *s = data;

	s->ending_kind = kind;
	s->ending_value = value;
}

static void on_rules(void *data, struct egress_rules *rules)
{
	struct session *s = data;
	unsigned closed = network_set_rules(&s->network, s->setup->rules, rules);

	events_status(control_events(s->control), SESSION_RULES_DONE, closed, (int32_t)s->setup->rules->generation);
}

static void on_flushed(void *data)
{
	struct session *s = data;

	if (s->state == FLUSHING && !events_pending(control_events(s->control)))
		close_all(s);
}

static void on_control_ended(void *data, int err)
{
	struct session *s = data;

	if (s->state != FLUSHING)
		log_warning("isod-control is gone (%s): the session ends", err < 0 ? strerror(-err) : "closed");
	abandon(s);
}

static const struct control_handlers control_handlers = {
	.attach = on_attach,
	.signal = on_signal,
	.ending = on_ending,
	.rules = on_rules,
	.flushed = on_flushed,
	.ended = on_control_ended,
};

/* pid 1 */

static void fail(struct session *s, const char *what, int r)
{
	log_error("cannot serve %s: %s", what, strerror(-r));
	on_exited(s, EXIT_KIND_LOST, 0);
	finish(s);
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
	int r = s->setup->has_pty && !s->pty && s->state == RUNNING ? 0 : -EPROTO;

	if (r == 0)
		r = pty_open(&s->loop, master, &pty_handlers, s, &s->pty);
	if (r < 0) {
		fd_close(master);
		fail(s, "the session's terminal", r);
		return;
	}
	if (s->rows > 0 && s->columns > 0)
		pty_resize(s->pty, s->rows, s->columns);
	if (s->attach)
		attach_set_pty(s->attach, s->pty);
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
	on_exited(s, EXIT_KIND_LOST, 0);
	finish(s);
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
		if (s->attach)
			attach_stopped(s->attach, (uint32_t)m->value);
		break;
	case LINK_CONTINUED:
		events_status(events, SESSION_CONTINUED, 0, 0);
		break;
	case LINK_EXITED:
		on_exited(s, m->kind, m->value);
		break;
	}
}

static void on_link_late(void *data, const struct late_event *event)
{
	struct session *s = data;

	events_late(control_events(s->control), event);
	if (s->attach)
		attach_late(s->attach, event);
	else if (attach_tells_late(event->kind) && s->setup->has_pty && !s->had_client)
		early_keep(&s->early, event);
}

static void on_link_ended(void *data, int err)
{
	struct session *s = data;

	if (err < 0)
		log_error("pid 1 of the session broke the protocol: %s", strerror(-err));
	on_exited(s, s->ending_kind ? s->ending_kind : (uint32_t)EXIT_KIND_LOST, s->ending_value);
	if (err < 0)
		finish(s);
}

static const struct link_handlers link_handlers = {
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

static void count_handle(uv_handle_t *handle, void *data)
{
	++*(unsigned *)data;
}

static bool has_handles(uv_loop_t *loop)
{
	unsigned n = 0;

	uv_walk(loop, count_handle, &n);
	return n > 0;
}

int session_run(const struct session_setup *setup)
{
	struct session s = { .setup = setup };
	int r = uv_loop_init(&s.loop);

	if (r < 0)
		return r;
	uv_timer_init(&s.loop, &s.timer);
	s.timer.data = &s;
	s.names = names_new();
	r = s.names ? control_open(&s.loop, setup->control_fd, &control_handlers, &s, &s.control) : -ENOMEM;
	if (r == 0)
		r = link_open(&s.loop, setup->link_fd, &link_handlers, &s, &s.link);
	if (r < 0) {
		if (s.control)
			control_close(s.control);
		uv_close((uv_handle_t *)&s.timer, NULL);
	}
	uv_run(&s.loop, UV_RUN_DEFAULT);
	/* A look-up that hangs must not keep the process: only handles are waited for. */
	while (has_handles(&s.loop))
		uv_run(&s.loop, UV_RUN_ONCE);
	link_free(s.link);
	early_done(&s.early);
	control_free(s.control);
	names_free(s.names);
	uv_loop_close(&s.loop);
	return r;
}
