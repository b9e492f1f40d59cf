/*
 * A run with a pty of the session's own. The caller's terminal is raw; its bytes travel as frames in both directions,
 * untouched. Both directions are bounded: a side that does not read stops the other.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit_kind.h"
#include "base/fd.h"
#include "client/report.h"
#include "client/run/detach_keys.h"
#include "client/run/run.h"
#include "client/signals.h"
#include "client/run/terminal.h"
#include "client/run/terminal_guard.h"
#include "client/run/terminal_modes.h"
#include "client/run/terminal_output.h"
#include "proto/stream.h"

/* Above this, nothing more is read for that side. */
#define HIGH_WATER TERMINAL_OUTPUT_HIGH
#define BUFFER_MAX (2U << 20)
#define INPUT_CHUNK 16384
/* A key that may begin the detach keys waits so long for the next. */
#define KEYS_MS 500

enum { AT_CONNECTION, AT_SIGNALS, AT_INPUT, AT_OUTPUT, N_POLL };

struct screen {
	struct run *run;
	int signals;
	bool input_ended;
	bool is_tty; /* stdin is a terminal, and raw */
	bool lost;   /* the connection ended; frames may still wait in its buffer */
	bool ended;
	int asked_to_end;
	int code;
	struct buffer to_session;
	struct terminal_output output;
	struct detach_keys keys;
	bool watches;  /* what is typed goes nowhere, and ctrl-C leaves */
	bool detached; /* the session goes on without us */
	struct terminal_modes modes;
	struct error error;
};

static void fail(struct screen *s)
{
	s->ended = true;
	s->code = report_run_code(&s->error);
}

static void queue(struct screen *s, int r)
{
	if (r == 0)
		return;
	error_set(&s->error, ERROR_INTERNAL, -r, "stream", "", "Out of memory, or isod does not read.");
	fail(s);
}

static void queue_size(struct screen *s)
{
	uint16_t rows, columns;

	terminal_size(&rows, &columns);
	queue(s, stream_append_u16_u16(&s->to_session, STREAM_RESIZE, rows, columns));
}

static void pass_on(struct screen *s, int signal)
{
	queue(s, stream_append_u32(&s->to_session, STREAM_SIGNAL, (uint32_t)signal));
}

static void take_terminal(struct screen *s)
{
	if (s->is_tty)
		(void)terminal_raw(STDIN_FILENO);
}

static bool is_to_end(int signal)
{
	return signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;
}

/* Waits until everything is out: before a stop and at the end. A signal to end gives up what is left, and is returned;
 * 0 without one. */
static int drain_output(struct screen *s)
{
	while (terminal_output_waiting(&s->output) > 0 && !s->output.gone) {
		struct pollfd p[] = { { .fd = s->output.fd, .events = POLLOUT },
				      { .fd = s->signals, .events = POLLIN } };

		if (terminal_output_write(&s->output))
			continue;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 0;
		if (p[1].revents) {
			int signal = signals_next(s->signals);

			if (is_to_end(signal))
				return signal;
			if (signal == SIGUSR1 || signal == SIGUSR2)
				pass_on(s, signal);
		}
		if (p[0].revents & (POLLERR | POLLNVAL))
			return 0;
	}
	return 0;
}

/* The second wish to end is one to be rid of isoctl, and with it of the session. One that only came to it leaves with
 * the first. */
static void on_signal(struct screen *s, int signal)
{
	if (is_to_end(signal) && s->run->attaches)
		s->asked_to_end++;
	if ((signal == SIGTERM || signal == SIGHUP) && s->asked_to_end++ > 0) {
		(void)terminal_modes_reset(&s->modes, &s->output.queue);
		(void)terminal_output_write(&s->output);
		terminal_restore();
		signals_die(signal);
	}
	if (s->run->attaches && signal == SIGINT)
		queue(s, stream_append(&s->to_session, STREAM_DETACH, NULL, 0));
	else if (!s->watches)
		pass_on(s, signal);
}

static void stop(struct screen *s)
{
	int signal = drain_output(s);

	if (signal > 0) { /* to end is more than to stop */
		on_signal(s, signal);
		return;
	}
	terminal_restore();
	signals_stop();
	take_terminal(s);
	queue_size(s);
}

static void on_stopped(struct screen *s)
{
	stop(s);
	queue(s, stream_append(&s->to_session, STREAM_CONTINUE, NULL, 0));
}

static void on_exit_frame(struct screen *s, const struct stream_frame *frame)
{
	uint32_t kind = stream_u32(frame->payload), value = stream_u32(frame->payload + 4);

	s->ended = true;
	switch (kind) {
	case EXIT_KIND_CODE:
		s->code = (int)(value & 0xff);
		return;
	case EXIT_KIND_SIGNAL:
		s->code = 128 + (int)(value & 0x7f);
		return;
	case EXIT_KIND_TIME:
		s->code = EXIT_TIME_LIMIT;
		return;
	default:
		error_set(&s->error, ERROR_INTERNAL, 0, "exit", "Look at the log of isod.",
			  "isod ended the session; how the command ended is not known.");
		s->code = EXIT_ISOD;
	}
}

static void on_late(struct screen *s, const struct stream_frame *frame)
{
	uint32_t kind = stream_u32(frame->payload);

	if (kind == STREAM_LATE_MORE)
		s->run->made.more += stream_u32(frame->payload + 4);
	else if (kind == STREAM_LATE_LACKING)
		made_add_lacking(&s->run->made, (const char *)frame->payload + 8,
				 strnlen((const char *)frame->payload + 8, frame->len - 8));
	else if (kind == STREAM_LATE_PLANTED || kind == STREAM_LATE_RUNS)
		made_add(&s->run->made, kind == STREAM_LATE_PLANTED, (const char *)frame->payload + 8,
			 strnlen((const char *)frame->payload + 8, frame->len - 8));
}

static void on_role(struct screen *s, const struct stream_frame *frame)
{
	static const char taken[] = "\r\nisoctl: another client drives the session now; this one watches\r\n";

	s->watches = stream_u32(frame->payload) == STREAM_WATCHER;
	if (stream_u32(frame->payload + 4) == STREAM_ROLE_TAKEN)
		queue(s, terminal_output_add(&s->output, taken, sizeof(taken) - 1));
}

static void on_detached(struct screen *s, uint32_t reason)
{
	s->ended = true;
	switch (reason) {
	case STREAM_DETACHED_ASKED:
		s->detached = true;
		return;
	case STREAM_DETACHED_BUSY:
		error_set(&s->error, ERROR_REFUSED, EBUSY, "attach", "--watch looks on, --take takes its place.",
			  "Another client drives the session.");
		s->code = EXIT_BUSY;
		return;
	default:
		error_set(&s->error, ERROR_LIMIT, EAGAIN, "attach", "Try again later.",
			  "Too many clients are attached to the session.");
		s->code = EXIT_BUSY;
	}
}

static void on_frame(struct screen *s, const struct stream_frame *frame)
{
	switch (frame->type) {
	case STREAM_STDERR: /* of a session without a terminal; its stdout may be elsewhere */
		(void)fd_write_full(STDERR_FILENO, frame->payload, frame->len);
		return;
	case STREAM_STDOUT:
		terminal_modes_feed(&s->modes, frame->payload, frame->len);
		terminal_guard_modes(&s->modes);
		queue(s, terminal_output_add(&s->output, frame->payload, frame->len));
		return;
	case STREAM_STOPPED:
		on_stopped(s);
		return;
	case STREAM_EXIT:
		on_exit_frame(s, frame);
		return;
	case STREAM_LATE:
		on_late(s, frame);
		return;
	case STREAM_ROLE:
		on_role(s, frame);
		return;
	case STREAM_DETACHED:
		on_detached(s, stream_u32(frame->payload));
		return;
	default:
		return; /* a later version's */
	}
}

static void take_frames(struct screen *s)
{
	struct buffer *in = &s->run->call.connection.in;
	size_t used = 0;

	while (!s->ended && terminal_output_waiting(&s->output) < HIGH_WATER) {
		struct stream_frame frame;
		long n = stream_parse((const uint8_t *)in->data + used, in->len - used, &frame);

		if (n == 0)
			break;
		if (n < 0) {
			error_set(&s->error, ERROR_INTERNAL, EPROTO, "stream",
				  "Install isod and isoctl from one release.",
				  "isod sent a frame that makes no sense.");
			fail(s);
			break;
		}
		used += (size_t)n;
		on_frame(s, &frame);
	}
	buffer_consume(in, used);
}

static void read_connection(struct screen *s)
{
	long n = connection_fill(&s->run->call.connection);

	s->lost = n == 0 || (n < 0 && n != -EAGAIN);
}

/* After take_frames(): what is left in the buffer is no whole frame. */
static void check_lost(struct screen *s)
{
	if (!s->lost || s->ended || terminal_output_waiting(&s->output) >= HIGH_WATER)
		return;
	connection_lost(&s->error);
	fail(s);
}

static void write_connection(struct screen *s)
{
	ssize_t n =
		send(s->run->call.connection.fd, s->to_session.data, s->to_session.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	/* A failure shows as the end of the incoming side, where frames may still wait to be read. */
	if (n > 0)
		buffer_consume(&s->to_session, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		buffer_consume(&s->to_session, s->to_session.len);
}

static void send_typed(struct screen *s, const struct buffer *bytes)
{
	if (bytes->len > 0 && !s->watches)
		queue(s, stream_append(&s->to_session, STREAM_STDIN, bytes->data, bytes->len));
}

static void typed(struct screen *s, const char *data, size_t n)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(INPUT_CHUNK + DETACH_KEYS_MAX);
	bool leaves = false;

	if (s->is_tty)
		queue(s, detach_keys_feed(&s->keys, data, n, &bytes, &leaves));
	else
		queue(s, buffer_append(&bytes, data, n));
	leaves |= s->watches && memchr(bytes.data ? bytes.data : "", 'C' - '@', bytes.len);
	send_typed(s, &bytes);
	if (leaves)
		queue(s, stream_append(&s->to_session, STREAM_DETACH, NULL, 0));
}

/* No further key came. */
static void flush_keys(struct screen *s)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(DETACH_KEYS_MAX);

	queue(s, detach_keys_flush(&s->keys, &bytes));
	send_typed(s, &bytes);
}

static void read_input(struct screen *s)
{
	char data[INPUT_CHUNK];
	ssize_t n = read(STDIN_FILENO, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	s->input_ended = n <= 0;
	if (!s->input_ended)
		typed(s, data, (size_t)n);
	else if (!s->run->attaches) /* who comes to a session may go without ending its input */
		queue(s, stream_append(&s->to_session, STREAM_STDIN, NULL, 0));
}

static void read_signals(struct screen *s)
{
	int signal;

	while ((signal = signals_next(s->signals)) > 0) {
		switch (signal) {
		case SIGWINCH:
			queue_size(s);
			break;
		case SIGCONT: /* stopped and continued from outside: the shell may have changed the terminal */
			take_terminal(s);
			queue_size(s);
			break;
		case SIGTSTP:
			stop(s);
			break;
		default:
			on_signal(s, signal);
		}
	}
}

static void wait_for_events(struct screen *s, struct pollfd at[N_POLL])
{
	const struct connection *c = &s->run->call.connection;
	int r;
	bool reads = c->in.len < HIGH_WATER && !s->lost, writes = s->to_session.len > 0 && !s->lost;

	at[AT_CONNECTION] = (struct pollfd){ .fd = reads || writes ? c->fd : -1 };
	at[AT_CONNECTION].events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
	at[AT_SIGNALS] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	at[AT_INPUT] = (struct pollfd){ .fd = -1, .events = POLLIN };
	at[AT_OUTPUT] =
		(struct pollfd){ .fd = terminal_output_waiting(&s->output) > 0 ? s->output.fd : -1, .events = POLLOUT };
	if (!s->input_ended && s->to_session.len < HIGH_WATER)
		at[AT_INPUT].fd = STDIN_FILENO;
	while ((r = poll(at, N_POLL, s->keys.matched > 0 ? KEYS_MS : -1)) < 0 && errno == EINTR)
		;
	if (r == 0)
		flush_keys(s);
}

/* All that can be done without an event. A write may make room for a frame that is here already and that no event will
 * announce; so this ends where either no whole frame is left or the output takes no more. */
static void settle(struct screen *s, bool output_ready)
{
	const struct buffer *in = &s->run->call.connection.in;
	size_t before;

	do {
		before = in->len;
		if (terminal_output_waiting(&s->output) > 0 && (output_ready || !s->output.blocks))
			(void)terminal_output_write(&s->output);
		output_ready = false;
		take_frames(s);
	} while (!s->ended && in->len < before);
	check_lost(s);
}

static void loop(struct screen *s)
{
	struct pollfd at[N_POLL];

	settle(s, false); /* what came with the reply */
	while (!s->ended) {
		wait_for_events(s, at);
		if (at[AT_SIGNALS].revents)
			read_signals(s);
		if (at[AT_INPUT].revents)
			read_input(s);
		if (at[AT_CONNECTION].revents & POLLOUT)
			write_connection(s);
		if (at[AT_CONNECTION].revents & (POLLIN | POLLHUP | POLLERR))
			read_connection(s);
		settle(s, at[AT_OUTPUT].revents != 0);
	}
}

static void leave(struct screen *s)
{
	(void)terminal_modes_reset(&s->modes, &s->output.queue);
	(void)drain_output(s);
	terminal_restore();
	if (s->error.code != ERROR_NONE)
		report_error(&s->error);
	if (s->detached && !s->run->quiet)
		fprintf(stderr, "\r\nisoctl: detached; isoctl attach %s leads back\n", s->run->session);
	run_finished(s->run);
}

/* Until the program runs nothing is set up, so a failure or a signal leaves nothing behind. */
static int start(struct screen *s, const int *signals)
{
	struct call *call = &s->run->call;
	int r = connection_open(s->run->client->socket, &call->connection, &s->error);

	if (r == 0)
		r = connection_send(&call->connection, &call->message, s->run->agents, s->run->n_agents, &s->error);
	if (r == 0)
		r = call_reply(call, -1, &s->error);
	if (r == 0)
		r = run_started(s->run, &s->error);
	if (r == 0)
		r = fd_set_nonblock(call->connection.fd, true);
	if (r == 0)
		r = s->signals = signals_open(signals);
	/* Keeps what is there already. */
	return r < 0 ? error_set(&s->error, ERROR_INTERNAL, -r, "signals", "", "isoctl cannot wait for events.") : 0;
}

int run_terminal(struct run *run)
{
	static const int more[] = { SIGWINCH, SIGCONT, SIGTSTP, -1 };
	struct screen s = { .run = run,
			    .is_tty = isatty(STDIN_FILENO),
			    .to_session = BUFFER_INIT(BUFFER_MAX),
			    .output = TERMINAL_OUTPUT_INIT,
			    .keys = *run->keys,
			    .watches = run->watches,
			    .modes = TERMINAL_MODES_INIT };

	if (start(&s, more) < 0) {
		report_error(&s.error);
		return report_run_code(&s.error);
	}
	terminal_output_open(&s.output);
	take_terminal(&s);
	if (!s.watches)
		queue_size(&s); /* it may have changed since the request was written */
	loop(&s);
	leave(&s);
	terminal_output_close(&s.output);
	fd_close(s.signals);
	buffer_done(&s.to_session);
	return s.code;
}
