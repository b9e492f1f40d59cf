#include "daemon/monitor/session_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/monitor/child_spawn.h"
#include "daemon/monitor/monitor.h"
#include "daemon/monitor/stdio_check.h"
#include "daemon/wire/exec_wire.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/plan.h"

enum { AT_COMMAND, AT_CHANNEL, AT_STDIO, N_STDIO = 3 };

struct session_exec {
	LIST_ENTRY(session_exec) link;
	struct session *session;
	struct child child;
};

void session_join_init(struct session *s)
{
	s->join.plan = s->join.context = -1;
	LIST_INIT(&s->join.running);
}

int session_join_keep(struct session *s, int plan, int context, bool nesting)
{
	s->join.plan = fcntl(plan, F_DUPFD_CLOEXEC, 0);
	s->join.context = fcntl(context, F_DUPFD_CLOEXEC, 0);
	s->join.nesting = nesting;
	return s->join.plan < 0 || s->join.context < 0 ? -errno : 0;
}

void session_join_kill(struct session *s)
{
	struct session_exec *x;

	LIST_FOREACH (x, &s->join.running, link)
		child_kill(&x->child);
}

void session_join_done(struct session *s)
{
	s->join.plan = fd_close(s->join.plan);
	s->join.context = fd_close(s->join.context);
}

static bool command_fits(const struct plan *plan, const struct control_message *m)
{
	return plan->uid == m->uid && strcmp(plan->id, m->id) == 0 && plan->n_mounts == 0 && plan->n_rules == 0 &&
	       plan->n_ports == 0 && plan->flags == (m->flags & CONTROL_START_PTY ? PLAN_PTY : 0);
}

static int check_command(int fd, const struct control_message *message)
{
	_cleanup_free_ void *block = NULL;
	struct plan plan;
	const void *data;
	size_t len;
	int r = fd_sealed_map(fd, LIMIT_PLAN, &data, &len);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return -EPROTO;
	r = plan_decode(data, len, &plan, &block, NULL);
	if (r == -EBADMSG || (r == 0 && !command_fits(&plan, message)))
		r = -EPROTO;
	munmap((void *)data, len);
	return r;
}

static int check_permitted(const struct session *s, const struct control_message *message, const int *fds,
			   struct error *e)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	int r = 0;

	if (s && s->state == SESSION_STARTING)
		return error_set(e, ERROR_REFUSED, EAGAIN, "exec", "Try again once it runs.",
				 "The session is only starting.");
	if (!s || s->state != SESSION_RUNNING)
		return error_set(e, ERROR_REFUSED, ESRCH, "exec", "See `isoctl sessions`.", "The session has ended.");
	if (s->join.n_running >= LIMIT_EXECS_PER_SESSION)
		return error_set(e, ERROR_LIMIT, EDQUOT, "exec", "Let some of them end.",
				 "%u commands were added to the session and run, as many as one may have.",
				 s->join.n_running);
	for (unsigned i = 0; i < ARRAY_SIZE(names) && r == 0 && !(message->flags & CONTROL_START_PTY); i++)
		r = stdio_check(fds[AT_STDIO + i], names[i], e);
	return r;
}

static pid_t spawn(const struct session *s, const struct control_message *message, const int *fds, const int *groups,
		   unsigned n_groups)
{
	static const char *const argv[] = { "isod-launch", "join", NULL };
	const struct monitor *m = s->monitor;
	const bool pty = message->flags & CONTROL_START_PTY;
	struct helper_fd to[LAUNCH_FD_END] = {
		{ pty ? m->files.null : fds[AT_STDIO], 0 },
		{ pty ? m->files.null : fds[AT_STDIO + 1], 1 },
		{ pty ? m->files.null : fds[AT_STDIO + 2], 2 },
		{ s->join.plan, LAUNCH_FD_PLAN },
		{ s->join.context, LAUNCH_FD_CONTEXT },
		{ fds[AT_CHANNEL], LAUNCH_JOIN_FD_CHANNEL },
		{ s->pid1.pidfd, LAUNCH_JOIN_FD_PID1 },
		{ fds[AT_COMMAND], LAUNCH_JOIN_FD_COMMAND },
		{ s->join.nesting ? m->files.seccomp_nesting : m->files.seccomp, LAUNCH_FD_SECCOMP },
	};
	size_t n = LAUNCH_FD_SECCOMP + 1;

	for (unsigned i = 0; i < n_groups; i++)
		to[n++] = (struct helper_fd){ groups[i], LAUNCH_FD_CGROUP + (int)i };
	return helper_spawn(m->options.libexec, argv, to, n);
}

static void on_exit_of_launch(struct child *child)
{
	struct session_exec *x = child->owner;
	struct session *s = x->session;

	LIST_REMOVE(x, link);
	s->join.n_running--;
	free(x);
	session_settle(s);
}

static int start(struct session *s, const struct control_message *message, const int *fds, struct error *e)
{
	struct session_exec *x = calloc(1, sizeof(*x));
	int groups[CGROUP_MAX], n;
	bool unified;
	pid_t pid;
	int r;

	if (!x)
		return -ENOMEM;
	n = cgroup_leaf_open_ways(&s->cgroup, groups, &unified);
	pid = n < 0 ? n : spawn(s, message, fds, groups, (unsigned)n);
	while (n > 0)
		fd_close(groups[--n]);
	r = pid < 0 ? pid : child_watch(&x->child, &s->monitor->loop, pid, on_exit_of_launch, x);
	if (r < 0) {
		free(x);
		return error_set(e, ERROR_INTERNAL, -r, "isod-launch", "Install isod again if it is missing.",
				 "isod-launch cannot be started: %s.", strerror(-r));
	}
	x->session = s;
	LIST_INSERT_HEAD(&s->join.running, x, link);
	s->join.n_running++;
	return 0;
}

int session_exec(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	const struct peer *peer = peers_find(&m->peers, message->connection);
	struct session *s = sessions_find(&m->sessions, message->id);
	struct exec_message answer = { .type = EXEC_FAILED, .error = ERROR_INIT };
	int r;

	if (!peer || peer->uid != message->uid || (s && s->uid != peer->uid) || message->flags & ~CONTROL_START_PTY ||
	    n_fds != AT_STDIO + (message->flags & CONTROL_START_PTY ? 0 : N_STDIO))
		return -EPROTO;
	r = check_command(fds[AT_COMMAND], message);
	if (r == -EPROTO)
		return r;
	if (r == 0)
		r = check_permitted(s, message, fds, &answer.error);
	if (r == 0 && s)
		r = start(s, message, fds, &answer.error);
	if (r == 0 && s)
		return 0;
	error_set(&answer.error, ERROR_INTERNAL, -r, "exec", "", "The command cannot be started: %s.", strerror(-r));
	/* Where it does not take that, it sees the end of the channel. Whatever socket it is: isod waits for nobody. */
	(void)!send(fds[AT_CHANNEL], &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
	return 0;
}
