#include "client/run/exec_terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/report.h"
#include "client/run/signal_link.h"
#include "client/run/terminal.h"
#include "client/run/terminal_guard.h"
#include "client/run/terminal_modes.h"
#include "client/signals.h"

#define CHUNK 16384

enum { AT_CONNECTION, AT_SIGNALS, AT_LINK, AT_INPUT, AT_MASTER, N_POLL };

struct screen {
	struct run *run;
	int master, signals;
	struct signal_link link;
	bool is_tty; /* stdin is a terminal, and raw */
	bool input_ended, output_ended;
	bool ended;
	int code;
	char input[CHUNK]; /* what the pty has not taken yet */
	size_t input_at, input_len;
	struct terminal_modes modes;
	struct error error;
};

static void pass_size(struct screen *s)
{
	struct winsize size = { 0 };

	terminal_size(&size.ws_row, &size.ws_col);
	(void)ioctl(s->master, TIOCSWINSZ, &size);
}

static void fail(struct screen *s)
{
	s->ended = true;
	s->code = report_run_code(&s->error);
}

static void read_connection(struct screen *s)
{
	struct call *call = &s->run->call;
	const struct json_value *code;

	if (call_reply(call, -1, &s->error) < 0) {
		fail(s);
		return;
	}
	code = json_get(call->reply.parameters, "exit");
	s->ended = true;
	s->code = code && code->type == JSON_INTEGER ? (int)(code->integer & 0xff) : EXIT_ISOD;
}

static void read_signals(struct screen *s)
{
	struct error e = ERROR_INIT;
	int signal;

	while ((signal = signals_next(s->signals)) > 0) {
		if (signal == SIGCONT && s->is_tty)
			(void)terminal_raw(STDIN_FILENO);
		if (signal == SIGWINCH || signal == SIGCONT) {
			pass_size(s);
			continue;
		}
		/* The end of isoctl hangs the command up. */
		if (signal == SIGTERM || signal == SIGHUP) {
			terminal_restore();
			signals_die(signal);
		}
		if (signal_link_send(&s->link, s->run->client, s->run->session, s->run->exec, signal, &e) < 0)
			report_error(&e);
	}
}

static void read_input(struct screen *s)
{
	ssize_t n = read(STDIN_FILENO, s->input, sizeof(s->input));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	s->input_at = 0;
	s->input_len = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return;
	/* What a terminal sends for an end of file. */
	s->input_ended = true;
	s->input[0] = 4;
	s->input_len = 1;
}

static void write_master(struct screen *s)
{
	ssize_t n = write(s->master, s->input + s->input_at, s->input_len);

	if (n > 0) {
		s->input_at += (size_t)n;
		s->input_len -= (size_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		s->input_len = 0;
		s->input_ended = true;
	}
}

/* False where nothing waits. */
static bool read_master(struct screen *s)
{
	char data[CHUNK];
	ssize_t n = read(s->master, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* EIO: nobody has the other end open any more. */
	s->output_ended = n <= 0;
	if (n <= 0)
		return false;
	terminal_modes_feed(&s->modes, data, (size_t)n);
	terminal_guard_modes(&s->modes);
	(void)fd_write_full(STDOUT_FILENO, data, (size_t)n);
	return true;
}

static void loop(struct screen *s)
{
	while (!s->ended) {
		struct pollfd at[N_POLL] = {
			[AT_CONNECTION] = { .fd = s->run->call.connection.fd, .events = POLLIN },
			[AT_SIGNALS] = { .fd = s->signals, .events = POLLIN },
			[AT_LINK] = { .fd = s->link.connection.fd, .events = POLLIN },
			[AT_INPUT] = { .fd = s->input_ended || s->input_len > 0 ? -1 : STDIN_FILENO, .events = POLLIN },
			[AT_MASTER] = { .fd = s->output_ended ? -1 : s->master,
					.events = (short)(POLLIN | (s->input_len > 0 ? POLLOUT : 0)) },
		};

		if (poll(at, N_POLL, -1) < 0)
			continue;
		if (at[AT_SIGNALS].revents)
			read_signals(s);
		if (at[AT_LINK].revents)
			signal_link_read(&s->link);
		if (at[AT_INPUT].revents)
			read_input(s);
		if (at[AT_MASTER].revents & POLLOUT)
			write_master(s);
		if (at[AT_MASTER].revents & (POLLIN | POLLHUP | POLLERR))
			read_master(s);
		if (at[AT_CONNECTION].revents)
			read_connection(s);
	}
	/* What it wrote last; others in the session may hold the pty open, and are not waited for. */
	for (int reads = 0; reads < 64 && !s->output_ended && read_master(s); reads++)
		; /* more than a pty holds: who writes on is not the command */
}

static int start(struct screen *s)
{
	static const int more[] = { SIGWINCH, SIGCONT, -1 };
	struct call *call = &s->run->call;
	int r = connection_open(s->run->client->socket, &call->connection, &s->error);

	if (r == 0)
		r = connection_send(&call->connection, &call->message, NULL, 0, &s->error);
	if (r == 0)
		r = call_reply(call, -1, &s->error);
	if (r == 0)
		r = run_started(s->run, &s->error);
	s->master = take_fd(&call->connection.passed);
	if (r == 0 && s->master < 0)
		r = error_set(&s->error, ERROR_INTERNAL, EPROTO, "protocol",
			      "Install isod and isoctl from one release.", "isod's answer brings no terminal.");
	if (r == 0)
		r = fd_set_nonblock(s->master, true);
	if (r == 0)
		r = s->signals = signals_open(more);
	return r < 0 ? error_set(&s->error, ERROR_INTERNAL, -r, "signals", "", "isoctl cannot wait for events.") : 0;
}

int exec_terminal(struct run *run)
{
	_cleanup_buffer_ struct buffer rest = BUFFER_INIT(1U << 16);
	struct screen s = { .run = run,
			    .master = -1,
			    .signals = -1,
			    .link = SIGNAL_LINK_INIT,
			    .is_tty = isatty(STDIN_FILENO),
			    .modes = TERMINAL_MODES_INIT };

	if (start(&s) < 0) {
		fail(&s);
	} else {
		if (s.is_tty)
			(void)terminal_raw(STDIN_FILENO);
		pass_size(&s);
		loop(&s);
		if (terminal_modes_reset(&s.modes, &rest) == 0 && rest.len > 0)
			(void)fd_write_full(STDOUT_FILENO, rest.data, rest.len);
		terminal_restore();
	}
	if (s.error.code != ERROR_NONE)
		report_error(&s.error);
	run_finished(run);
	signal_link_done(&s.link);
	fd_close(s.master);
	fd_close(s.signals);
	return s.code;
}
