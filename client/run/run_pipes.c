/*
 * A run without a pty: isoctl waits for the two replies of Run, relays the descriptors that could not be handed over
 * and passes signals on.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/report.h"
#include "client/run/run.h"
#include "client/run/run_stdio.h"
#include "client/run/signal_link.h"
#include "client/signals.h"

/* The session is gone, so the ends of its pipes close at once; only a defect keeps one open, and must not hang us. The
 * caller's side may take its time: a terminal that is held by ctrl-S. */
#define DRAIN_MS 5000
/* The program may run, and write, before isod's answer says so: a signal that comes first waits for it so long. */
#define EARLY_MS 1000

enum { AT_CONNECTION, AT_SIGNALS, AT_LINK, AT_RELAYS, N_POLL = AT_RELAYS + 2 * RUN_STDIO_RELAYS };

/* STARTING: nothing is relayed, a signal waits, and ends isoctl in the end (isod then ends what it has begun). RUNNING:
 * all is passed on. ENDED: the exit code is known, output is drained. */
enum pipes_state { PIPES_STARTING, PIPES_RUNNING, PIPES_ENDED };

struct pipes {
	struct run *run;
	enum pipes_state state;
	struct run_stdio stdio;
	struct signal_link link;
	int signals;
	int early;        /* a signal that came while it was starting, or 0 */
	int asked_to_end; /* SIGTERM or SIGHUP seen: how often */
	int code;
	struct error error;
};

static void ended(struct pipes *p, int code)
{
	p->code = code;
	p->state = PIPES_ENDED;
	for (size_t i = 0; i < p->stdio.n_relays; i++)
		if (p->stdio.number[i] == 0)
			relay_give_back(&p->stdio.relays[i]);
}

static void failed(struct pipes *p)
{
	report_error(&p->error);
	ended(p, report_run_code(&p->error));
}

static int exit_code(struct pipes *p)
{
	const struct json_value *session = json_get(p->run->call.reply.parameters, "session");
	const struct json_value *code = json_get(p->run->exec ? p->run->call.reply.parameters : session, "exit");

	if (code && code->type == JSON_INTEGER && code->integer >= 0 && code->integer <= 255)
		return (int)code->integer;
	error_set(&p->error, ERROR_INTERNAL, EPROTO, "exit", "Look at the log of isod.",
		  "isod does not know how the command ended.");
	report_error(&p->error);
	return EXIT_ISOD;
}

static void pass_on(struct pipes *p, int signal)
{
	struct error e = ERROR_INIT;

	/* The second wish to end is one to be rid of isoctl, and with it of the session. */
	if ((signal == SIGTERM || signal == SIGHUP) && p->asked_to_end++ > 0)
		signals_die(signal);
	if (signal_link_send(&p->link, p->run->client, p->run->session, p->run->exec, signal, &e) < 0)
		report_error(&e);
}

static void on_reply(struct pipes *p)
{
	const struct json_value *event = json_get(p->run->call.reply.parameters, "event");
	const char *name = event && event->type == JSON_STRING ? event->string.data : "";

	if (connection_check(&p->run->call.reply, &p->error) < 0) {
		failed(p);
	} else if (p->state == PIPES_STARTING && strcmp(name, "started") == 0) {
		p->state = PIPES_RUNNING;
		if (run_started(p->run, &p->error) < 0)
			failed(p);
		else if (p->early)
			pass_on(p, p->early);
	} else if (p->state == PIPES_RUNNING && strcmp(name, "exited") == 0) {
		if (!p->run->exec)
			made_add_reply(&p->run->made, p->run->call.reply.parameters);
		ended(p, exit_code(p));
	}
	/* Other events are news of a later version. */
}

static void read_connection(struct pipes *p)
{
	struct call *call = &p->run->call;
	long n = connection_fill(&call->connection);
	int r;

	if (n == -EAGAIN)
		return;
	do {
		json_document_done(&call->document);
		call->document = (struct json_document)JSON_DOCUMENT_INIT;
		r = connection_next(&call->connection, &call->document, &call->reply, &p->error);
		if (r > 0)
			on_reply(p);
	} while (r > 0 && p->state != PIPES_ENDED);
	if (p->state == PIPES_ENDED)
		return;
	if (n <= 0)
		connection_lost(&p->error);
	if (n <= 0 || r < 0)
		failed(p);
}

/* Nothing is left to pass a signal on to; the output that still waits is given up. */
static void give_up_output(struct pipes *p)
{
	for (size_t i = 0; i < p->stdio.n_relays; i++)
		relay_done(&p->stdio.relays[i]);
}

static void read_signals(struct pipes *p)
{
	int signal;

	while ((signal = signals_next(p->signals)) > 0) {
		if (p->state == PIPES_STARTING && p->early)
			signals_die(signal);
		if (p->state == PIPES_STARTING)
			p->early = signal;
		if (p->state == PIPES_ENDED && signal != SIGUSR1 && signal != SIGUSR2)
			give_up_output(p);
		if (p->state == PIPES_RUNNING)
			pass_on(p, signal);
	}
}

/* What is left to wait for once the session has ended. */
static bool is_drained(const struct pipes *p)
{
	for (size_t i = 0; i < p->stdio.n_relays; i++)
		if (p->stdio.relays[i].state != RELAY_CLOSED)
			return false;
	return true;
}

static bool waits_for_caller(const struct pipes *p)
{
	for (size_t i = 0; i < p->stdio.n_relays; i++)
		if (p->stdio.relays[i].state == RELAY_ROOM)
			return true;
	return false;
}

static int wait_for_events(struct pipes *p, struct pollfd at[N_POLL])
{
	int timeout = p->state == PIPES_ENDED && !waits_for_caller(p) ? DRAIN_MS : -1, r;

	if (p->state == PIPES_STARTING && p->early)
		timeout = EARLY_MS;

	for (int i = 0; i < N_POLL; i++)
		at[i] = (struct pollfd){ .fd = -1 };
	if (p->state != PIPES_ENDED)
		at[AT_CONNECTION] = (struct pollfd){ .fd = p->run->call.connection.fd, .events = POLLIN };
	at[AT_SIGNALS] = (struct pollfd){ .fd = p->signals, .events = POLLIN };
	at[AT_LINK] = (struct pollfd){ .fd = p->link.connection.fd, .events = POLLIN };
	if (p->state != PIPES_STARTING)
		for (size_t i = 0; i < p->stdio.n_relays; i++)
			relay_poll(&p->stdio.relays[i], &at[AT_RELAYS + 2 * i]);
	do
		r = poll(at, N_POLL, timeout);
	while (r < 0 && errno == EINTR);
	return r;
}

static void loop(struct pipes *p)
{
	struct pollfd at[N_POLL];

	while (p->state != PIPES_ENDED || !is_drained(p)) {
		if (wait_for_events(p, at) <= 0) {
			if (p->state == PIPES_STARTING)
				signals_die(p->early ? p->early : SIGTERM);
			fputs("isoctl: output may be lost: somebody holds its pipe open\n", stderr);
			return;
		}
		if (at[AT_SIGNALS].revents)
			read_signals(p);
		if (at[AT_LINK].revents)
			signal_link_read(&p->link);
		/* Output before the end, so that the drain finds little. */
		for (size_t i = 0; i < p->stdio.n_relays; i++)
			relay_step(&p->stdio.relays[i], &at[AT_RELAYS + 2 * i]);
		if (at[AT_CONNECTION].revents)
			read_connection(p);
	}
}

static void report_relays(const struct pipes *p)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };

	for (size_t i = 0; i < p->stdio.n_relays; i++)
		if (p->stdio.relays[i].error)
			fprintf(stderr, "isoctl: %s: %s\n", names[p->stdio.number[i]],
				strerror(p->stdio.relays[i].error));
}

static int send_call(struct run *run, const struct run_stdio *stdio, struct error *e)
{
	int fds[] = { stdio->pass[0], stdio->pass[1], stdio->pass[2], run->agents[0], run->agents[1] };

	return connection_send(&run->call.connection, &run->call.message, fds, 3 + run->n_agents, e);
}

int run_pipes(struct run *run)
{
	static const int no_more[] = { -1 };
	struct pipes p = { .run = run, .stdio = RUN_STDIO_INIT, .link = SIGNAL_LINK_INIT, .code = EXIT_ISOD };
	struct connection *connection = &run->call.connection;
	int r = run_stdio_prepare(&p.stdio, &p.error);

	p.signals = signals_open(no_more);
	if (r == 0 && p.signals < 0)
		r = error_set(&p.error, ERROR_INTERNAL, -p.signals, "signals", "", "Signals cannot be received.");
	if (r == 0)
		r = connection_open(run->client->socket, connection, &p.error);
	if (r == 0)
		r = send_call(run, &p.stdio, &p.error);
	run_stdio_sent(&p.stdio);
	if (r == 0) {
		loop(&p);
		report_relays(&p);
	} else {
		report_error(&p.error);
	}
	run_finished(run);
	run_stdio_done(&p.stdio);
	signal_link_done(&p.link);
	fd_close(p.signals);
	return p.code;
}
