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
	console_close(s->console);
	link_close(s->link);
	s->console = NULL;
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
	/* What it reports goes before what was shown last, which would fill the queue. */
	network_close(&s->network);
	if (s->console && !s->seen)
		console_tell_last(s->console, control_events(s->control));
	wind_up(s);
	session_record_end(s, on_all_recorded);
}

static void on_end_recorded(void *data)
{
	struct session *s = data;

	s->end_recorded = true;
	if (s->console && s->state == EXITED)
		console_exit(s->console, s->kind, (uint32_t)s->value);
}

/* To the clients, with which the session ends. */
static void tell_exit(struct session *s)
{
	s->told_exit = true;
	s->seen = console_is_awaited(s->console);
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
	if (s->console)
		console_exit(s->console, s->state == EXITED ? s->kind : (uint32_t)EXIT_KIND_LOST, (uint32_t)s->value);
	if (s->state < FLUSHING)
		wind_up(s);
	close_all(s);
}

static void on_grace(uv_timer_t *timer);

static void end_with(struct session *s)
{
	tell_exit(s);
	uv_timer_start(&s->timer, on_grace, GRACE, 0);
}

static void on_grace(uv_timer_t *timer)
{
	struct session *s = timer->data;

	/* Those who only watch are not waited for without end. */
	if (s->told_exit && s->seen && console_is_awaited(s->console)) {
		uv_timer_start(timer, on_grace, GRACE, 0);
	} else if (s->told_exit) {
		session_finish(s);
	} else if (console_is_behind(s->console) || console_total(s->console) != s->total) {
		/* It waits for the client, or output still flows: nobody is stuck. */
		s->total = console_total(s->console);
		uv_timer_start(timer, on_grace, GRACE, 0);
	} else {
		end_with(s);
	}
}

/* With the last output to the last client, or when nobody comes or moves any more. */
static void end_console(struct session *s)
{
	if (s->told_exit)
		return;
	if (console_is_drained(s->console)) {
		end_with(s);
		return;
	}
	s->total = console_total(s->console);
	uv_timer_start(&s->timer, on_grace, GRACE, 0);
}

void session_exited(struct session *s, uint32_t kind, int32_t value)
{
	if (s->state != RUNNING)
		return;
	s->state = EXITED;
	s->kind = kind;
	s->value = value;
	if (s->console)
		end_console(s);
	else
		session_finish(s);
}

/* The console */

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

static void on_console_drained(void *data)
{
	struct session *s = data;

	if (s->state == EXITED)
		end_console(s);
}

static void on_hung_up(void *data)
{
	struct session *s = data;

	if (s->state == EXITED) {
		session_finish(s);
	} else if (s->state == RUNNING && link_send_signal(s->link, LINK_HANGUP, 0) < 0) {
		/* pid 1 reads nothing: the end of the link ends it */
		session_exited(s, EXIT_KIND_LOST, 0);
		session_finish(s);
	}
}

static void on_console_ended(void *data)
{
	session_finish(data);
}

static void on_clients_changed(void *data, unsigned clients, bool driven)
{
	struct session *s = data;

	events_status(control_events(s->control), SESSION_CLIENTS, driven, (int32_t)clients);
}

static const struct console_handlers console_handlers = {
	.signal = on_client_signal,
	.resume = on_client_resume,
	.drained = on_console_drained,
	.hung_up = on_hung_up,
	.ended = on_console_ended,
	.changed = on_clients_changed,
};

/* isod-control */

static void on_attach(void *data, int client, unsigned flags, uint16_t rows, uint16_t columns)
{
	struct session *s = data;
	int r = s->console && s->state <= EXITED && !s->told_exit
			? console_attach(s->console, client, flags, rows, columns)
			: -ENOTCONN;

	if (r < 0) {
		log_warning("a client that this session cannot serve was turned away: %s", strerror(-r));
		fd_close(client);
	} else if (s->state == EXITED) {
		end_console(s);
	}
}

static int on_output(void *data, int pipe, bool is_stderr)
{
	struct session *s = data;

	if (!s->console || s->state > EXITED)
		return -EPROTO;
	return console_add_pipe(s->console, pipe, is_stderr);
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

static void on_answer(void *data, uint32_t number, uint32_t answer)
{
	network_answered(&((struct session *)data)->network, number, answer);
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
	.output = on_output,
	.signal = on_signal,
	.ending = on_ending,
	.rules = on_rules,
	.answer = on_answer,
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
	if (setup->console.has_pty || setup->console.detached) {
		s.console = console_new(&s.loop, &setup->console, &console_handlers, &s);
		r = s.console ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = s.names ? control_open(&s.loop, setup->control_fd, &control_handlers, &s, &s.control) : -ENOMEM;
	if (r == 0)
		r = session_record_open(&s);
	if (r == 0)
		r = link_open(&s.loop, setup->link_fd, &session_pid1, &s, &s.link);
	if (r < 0) {
		session_record_close(&s);
		if (s.control)
			control_close(s.control);
		console_close(s.console);
		uv_close((uv_handle_t *)&s.timer, NULL);
	}
	uv_run(&s.loop, UV_RUN_DEFAULT);
	/* A look-up that hangs must not keep the process: only handles are waited for. */
	while (has_handles(&s.loop))
		uv_run(&s.loop, UV_RUN_ONCE);
	link_free(s.link);
	control_free(s.control);
	names_free(s.names);
	uv_loop_close(&s.loop);
	return r;
}
