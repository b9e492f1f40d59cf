#include "daemon/session/session.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/session/session_state.h"

/* Milliseconds: for a survivor that holds the terminal open, for a client that is still on its way, and for
 * isod-control to take the last events. */
#define GRACE 5000

static void close_all(struct session *s)
{
	if (s->state == CLOSED)
		return;
	s->state = CLOSED;
	session_record_close(s);
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

static void on_all_recorded(void *data)
{
	struct session *s = data;

	if (s->state != FLUSHING)
		return;
	s->end_told = true;
	events_status(control_events(s->control), SESSION_EXITED, s->kind, s->value);
	uv_timer_start(&s->timer, on_flush_timeout, GRACE, 0);
}

static void on_drained(void *data)
{
	struct session *s = data;

	s->state = FLUSHING;
	wind_up(s);
	session_record_end(s, on_all_recorded);
}

static void on_end_recorded(void *data)
{
	struct session *s = data;

	s->end_recorded = true;
	if (s->attach && s->state == EXITED)
		attach_exit(s->attach, s->kind, (uint32_t)s->value);
}

static void tell_client_exit(struct session *s)
{
	if (s->end_recorded)
		on_end_recorded(s);
	else
		session_record_end(s, on_end_recorded);
}

void session_finish(struct session *s)
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
		session_finish(s);
	} else if (attach_is_behind(s->attach) || attach_total(s->attach) != s->total) {
		/* It waits for the client, or output still flows: nobody is stuck. */
		s->total = attach_total(s->attach);
		uv_timer_start(timer, on_grace, GRACE, 0);
	} else {
		tell_client_exit(s);
	}
}

void session_exited(struct session *s, uint32_t kind, int32_t value)
{
	if (s->state != RUNNING)
		return;
	s->state = EXITED;
	s->kind = kind;
	s->value = value;
	/* Without a pty nobody waits here for output; a client that left needs none. Without a pty that was promised
	 * there will be no output. */
	if (!s->setup->has_pty || (s->had_client && !s->attach)) {
		session_finish(s);
		return;
	}
	if (s->attach && (s->drained || !s->pty)) {
		tell_client_exit(s);
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
		tell_client_exit(s);
}

static void on_client_gone(void *data, bool complete)
{
	struct session *s = data;

	attach_close(s->attach);
	s->attach = NULL;
	if (s->state == EXITED) {
		session_finish(s);
	} else if (s->state == RUNNING) {
		/* Its terminal is gone: what a program would see on any terminal. */
		pty_close(s->pty);
		s->pty = NULL;
		if (link_send_signal(s->link, LINK_HANGUP, 0) <
		    0) { /* pid 1 reads nothing: the end of the link ends it */
			session_exited(s, EXIT_KIND_LOST, 0);
			session_finish(s);
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

const struct pty_handlers session_pty = { .readable = on_pty_readable, .writable = on_pty_writable };

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
		session_finish(s);
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
		tell_client_exit(s);
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

	if (s->state == FLUSHING && s->end_told && !events_pending(control_events(s->control)))
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
		r = session_record_open(&s);
	if (r == 0)
		r = link_open(&s.loop, setup->link_fd, &session_pid1, &s, &s.link);
	if (r < 0) {
		session_record_close(&s);
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
