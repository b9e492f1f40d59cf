/* A run that nobody waits for: what it writes goes through pipes to isod-session, which keeps the end of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/report.h"
#include "client/run/run.h"

/* stdin, stdout, stderr of the session, and the ends to read of the last two. The pipes are ours, as the program's
 * /dev/stdout must be the user's to be opened anew. */
#define N_STDIO 5

static int make_stdio(int fds[N_STDIO], struct error *e)
{
	int r = 0;

	for (int i = 0; i < N_STDIO; i++)
		fds[i] = -1;
	fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; fds[0] >= 0 && r == 0 && i < 2; i++) {
		int pair[2];

		r = pipe2(pair, O_CLOEXEC);
		if (r < 0)
			break;
		fds[3 + i] = pair[0];
		fds[1 + i] = pair[1];
	}
	return fds[0] >= 0 && r == 0
		       ? 0
		       : error_set(e, ERROR_INTERNAL, errno, "stdio", "", "The session's pipes cannot be made.");
}

static int start(struct run *run, bool terminal, struct error *e)
{
	struct call *call = &run->call;
	int fds[N_STDIO + 3];
	size_t n = terminal ? 0 : N_STDIO;
	int r = n > 0 ? make_stdio(fds, e) : 0;

	if (r == 0)
		r = connection_open(run->client->socket, &call->connection, e);
	if (r == 0) {
		for (size_t i = 0; i < run->n_agents; i++)
			fds[n + i] = run->agents[i];
		r = connection_send(&call->connection, &call->message, fds, n + run->n_agents, e);
	}
	for (size_t i = 0; i < n; i++)
		fd_close(fds[i]);
	return r < 0 ? r : call_reply(call, -1, e);
}

int run_detached(struct run *run, bool terminal)
{
	struct error e = ERROR_INIT;
	int r = start(run, terminal, &e);

	if (r == 0)
		r = run_started(run, &e);
	if (r < 0) {
		report_error(&e);
		return report_run_code(&e);
	}
	puts(run->session);
	run_finished(run);
	return fflush(stdout) == 0 ? 0 : EXIT_ISOD;
}
