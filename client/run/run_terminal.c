/*
 * A run with a pty of the session's own. The caller's terminal is raw; its bytes travel as frames in both directions,
 * untouched. Both directions are bounded: a side that does not read stops the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit_kind.h"
#include "base/fd.h"
#include "client/report.h"
#include "client/run/run.h"
#include "client/signals.h"
#include "client/run/terminal.h"
#include "client/run/terminal_guard.h"
#include "client/run/terminal_modes.h"
#include "proto/stream.h"

/* Above the first, nothing more is read for that side; the second also has room for what
 * is written already and for one more frame. */
#define HIGH_WATER (256U << 10)
#define BUFFER_MAX (2U << 20)
#define INPUT_CHUNK 16384
/* A blocking terminal takes this much when poll() says that it takes anything. */
#define SMALL_CHUNK 512

enum { AT_CONNECTION, AT_SIGNALS, AT_INPUT, AT_OUTPUT, N_POLL };

struct screen {
	struct run *run;
	int signals;
	int output; /* our own opening of stdout where that worked, else stdout */
	bool output_blocks;
	bool output_gone;
	bool input_ended;
	bool is_tty; /* stdin is a terminal, and raw */
	bool lost;   /* the connection ended; frames may still wait in its buffer */
	bool ended;
	int asked_to_end;
	int code;
	struct buffer to_session;
	struct buffer to_output;
	size_t written; /* bytes of it that are out: moving the rest for each write would cost more than the write */
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

static size_t waiting(const struct screen *s)
{
	return s->to_output.len - s->written;
}

static void forget_output(struct screen *s)
{
	buffer_consume(&s->to_output, s->to_output.len);
	s->written = 0;
}

/* Writes what waits for the output; false where it would block or is gone. */
static bool write_output(struct screen *s)
{
	while (waiting(s) > 0) {
		size_t n = waiting(s);
		ssize_t written;

		if (s->output_blocks && n > SMALL_CHUNK)
			n = SMALL_CHUNK;
		written = write(s->output, s->to_output.data + s->written, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			break;
		if (written < 0) {
			s->output_gone = true;
			break;
		}
		s->written += (size_t)written;
		if (s->output_blocks)
			break;
	}
	if (s->output_gone || waiting(s) == 0)
		forget_output(s);
	if (s->written >= HIGH_WATER) {
		buffer_consume(&s->to_output, s->written);
		s->written = 0;
	}
	return !s->output_gone && waiting(s) == 0;
}

static bool is_to_end(int signal)
{
	return signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;
}

/* Waits until everything is out: before a stop and at the end. A signal to end gives up what is left, and is returned;
 * 0 without one. */
static int drain_output(struct screen *s)
{
	while (waiting(s) > 0 && !s->output_gone) {
		struct pollfd p[] = { { .fd = s->output, .events = POLLOUT }, { .fd = s->signals, .events = POLLIN } };

		if (write_output(s))
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

/* The second wish to end is one to be rid of isoctl, and with it of the session. */
static void on_signal(struct screen *s, int signal)
{
	if ((signal == SIGTERM || signal == SIGHUP) && s->asked_to_end++ > 0) {
		(void)terminal_modes_reset(&s->modes, &s->to_output);
		(void)write_output(s);
		terminal_restore();
		signals_die(signal);
	}
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

static void on_frame(struct screen *s, const struct stream_frame *frame)
{
	switch (frame->type) {
	case STREAM_STDOUT:
	case STREAM_STDERR:
		terminal_modes_feed(&s->modes, frame->payload, frame->len);
		terminal_guard_modes(&s->modes);
		if (!s->output_gone)
			queue(s, buffer_append(&s->to_output, frame->payload, frame->len));
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
	default:
		return; /* a later version's */
	}
}

static void take_frames(struct screen *s)
{
	struct buffer *in = &s->run->call.connection.in;
	size_t used = 0;

	while (!s->ended && waiting(s) < HIGH_WATER) {
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
	if (!s->lost || s->ended || waiting(s) >= HIGH_WATER)
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

static void read_input(struct screen *s)
{
	char data[INPUT_CHUNK];
	ssize_t n = read(STDIN_FILENO, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	s->input_ended = n <= 0;
	queue(s, stream_append(&s->to_session, STREAM_STDIN, data, n > 0 ? (size_t)n : 0));
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
	bool reads = c->in.len < HIGH_WATER && !s->lost, writes = s->to_session.len > 0 && !s->lost;

	at[AT_CONNECTION] = (struct pollfd){ .fd = reads || writes ? c->fd : -1 };
	at[AT_CONNECTION].events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
	at[AT_SIGNALS] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	at[AT_INPUT] = (struct pollfd){ .fd = -1, .events = POLLIN };
	at[AT_OUTPUT] = (struct pollfd){ .fd = waiting(s) > 0 ? s->output : -1, .events = POLLOUT };
	if (!s->input_ended && s->to_session.len < HIGH_WATER)
		at[AT_INPUT].fd = STDIN_FILENO;
	while (poll(at, N_POLL, -1) < 0 && errno == EINTR)
		;
}

/* All that can be done without an event. A write may make room for a frame that is here already and that no event will
 * announce; so this ends where either no whole frame is left or the output takes no more. */
static void settle(struct screen *s, bool output_ready)
{
	const struct buffer *in = &s->run->call.connection.in;
	size_t before;

	do {
		before = in->len;
		if (waiting(s) > 0 && (output_ready || !s->output_blocks))
			(void)write_output(s);
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

static void open_output(struct screen *s)
{
	struct stat st;
	bool is_file = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
	int opened = is_file ? -EINVAL : terminal_open_output(STDOUT_FILENO);

	/* A file must be written through the caller's descriptor, which knows the position. */
	s->output = opened >= 0 ? opened : STDOUT_FILENO;
	s->output_blocks = opened < 0 && !is_file;
}

static void leave(struct screen *s)
{
	(void)terminal_modes_reset(&s->modes, &s->to_output);
	(void)drain_output(s);
	terminal_restore();
	if (s->error.code != ERROR_NONE)
		report_error(&s->error);
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
			    .to_output = BUFFER_INIT(BUFFER_MAX),
			    .modes = TERMINAL_MODES_INIT };

	if (start(&s, more) < 0) {
		report_error(&s.error);
		return report_run_code(&s.error);
	}
	open_output(&s);
	take_terminal(&s);
	queue_size(&s); /* it may have changed since the request was written */
	loop(&s);
	leave(&s);
	if (s.output != STDOUT_FILENO)
		fd_close(s.output);
	fd_close(s.signals);
	buffer_done(&s.to_session);
	buffer_done(&s.to_output);
	return s.code;
}
