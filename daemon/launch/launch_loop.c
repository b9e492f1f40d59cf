/*
 * pid 1's life. Messages come from isod-session alone (link_wire.h); a malformed one ends the session, as does the end
 * of the link. Waited for are the link, SIGCHLD, the grace after a hang-up, and files that appear (launch_late.h).
 */
#include "daemon/launch/launch_loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/linux/launch/launch_confine.h"
#include "daemon/linux/net/launch_diag.h"
#include "daemon/linux/watch/launch_late.h"
#include "daemon/linux/launch/launch_pty.h"
#include "daemon/linux/net/launch_publish.h"
#include "daemon/linux/net/launch_ssh.h"
#include "daemon/linux/launch/launch_who.h"
#include "daemon/wire/link_wire.h"

#define HANGUP_GRACE_SECONDS 2
/* For what the program leaves behind to end, so that nothing is made after the last look at the folders. */
#define END_MS 1000

struct loop {
	struct launch *launch;
	int children; /* signalfd */
	int grace;    /* timerfd, not armed before LINK_HANGUP */
	int asked_fd; /* of the message that is being answered; -1 = it has none */
	bool ended;
	int status; /* ours, once ended */
};

static int tell(struct loop *loop, const struct link_message *message)
{
	ssize_t n = fd_pass_send(loop->launch->link_fd, message, sizeof(*message), NULL, 0);

	return n < 0 ? (int)n : 0;
}

static int tell_program(struct loop *loop, uint32_t type, uint32_t kind, int value)
{
	struct link_message message = { .type = type, .kind = kind, .value = value };

	return tell(loop, &message);
}

/* The rest of the session would be killed by our own end; it is killed before, so that the last thing it has made is
 * still seen. A process that hangs in the kernel is not waited for. */
static void end_the_rest(struct loop *loop)
{
	struct pollfd children = { .fd = loop->children, .events = POLLIN };
	struct signalfd_siginfo info;

	if (!loop->launch->late)
		return;
	kill(-1, SIGKILL);
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid > 0 || (pid < 0 && errno == EINTR))
			continue;
		if (pid < 0 || poll(&children, 1, END_MS) <= 0)
			break;
		while (read(loop->children, &info, sizeof(info)) > 0)
			;
	}
	launch_late_end(loop->launch);
}

static int program_changed(struct loop *loop, int status)
{
	if (WIFSTOPPED(status))
		return tell_program(loop, LINK_STOPPED, EXIT_KIND_NONE, WSTOPSIG(status));
	if (WIFCONTINUED(status))
		return tell_program(loop, LINK_CONTINUED, EXIT_KIND_NONE, 0);
	loop->ended = true;
	end_the_rest(loop);
	if (WIFEXITED(status)) {
		loop->status = WEXITSTATUS(status);
		return tell_program(loop, LINK_EXITED, EXIT_KIND_CODE, WEXITSTATUS(status));
	}
	loop->status = 128 + WTERMSIG(status);
	return tell_program(loop, LINK_EXITED, EXIT_KIND_SIGNAL, WTERMSIG(status));
}

static int on_children(struct loop *loop)
{
	struct signalfd_siginfo info;

	/* One SIGCHLD may stand for many: what counts is what waitpid says. */
	while (read(loop->children, &info, sizeof(info)) > 0)
		;
	while (!loop->ended) {
		int status, r;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			break;
		/* The others are orphans that fell to pid 1. */
		if (pid != loop->launch->program)
			continue;
		r = program_changed(loop, status);
		if (r < 0)
			return r;
	}
	return 0;
}

static int on_signal(struct loop *loop, const struct link_message *m)
{
	if (m->value < 1 || m->value >= NSIG)
		return -EBADMSG;
	kill(-launch_pty_group(loop->launch), m->value);
	return 0;
}

static int on_continue(struct loop *loop, const struct link_message *m)
{
	launch_pty_foreground(loop->launch);
	kill(-loop->launch->program, SIGCONT);
	return 0;
}

/* n questions at once, answered together. */
static int answer_who(struct loop *loop, const struct link_message *m, size_t n)
{
	struct link_message answers[LINK_BATCH];
	struct launch_who whose[LINK_BATCH];
	uint64_t inodes[LINK_BATCH];
	ssize_t r;

	launch_diag_inodes(loop->launch->diag_fd, m, n, inodes);
	for (size_t i = 0; i < n; i++) {
		answers[i] = (struct link_message){ .type = LINK_OWNER, .query = m[i].query };
		whose[i] = (struct launch_who){ .inode = inodes[i],
						.pid = &answers[i].value,
						.text = answers[i].text,
						.size = sizeof(answers[i].text) };
	}
	launch_who_find(whose, n);
	r = fd_pass_send(loop->launch->link_fd, answers, n * sizeof(answers[0]), NULL, 0);
	return r < 0 ? (int)r : 0;
}

static int on_who(struct loop *loop, const struct link_message *m)
{
	struct link_message answer = { .type = LINK_OWNER, .query = m->query };

	if (m->family != AF_UNIX)
		return answer_who(loop, m, 1);
	launch_ssh_who(loop->asked_fd, &answer.value, answer.text, sizeof(answer.text));
	return tell(loop, &answer);
}

static bool are_questions(const struct link_message *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].type != LINK_WHO || (m[i].family != AF_INET && m[i].family != AF_INET6))
			return false;
	return true;
}

static int on_hangup(struct loop *loop, const struct link_message *m)
{
	struct itimerspec grace = { .it_value.tv_sec = HANGUP_GRACE_SECONDS };

	kill(-1, SIGHUP);
	/* A stopped process takes its hang-up when it runs again. */
	kill(-1, SIGCONT);
	return timerfd_settime(loop->grace, 0, &grace, NULL) < 0 ? -errno : 0;
}

static int on_socket(struct loop *loop, const struct link_message *m)
{
	return launch_publish_socket(loop->launch->link_fd, m);
}

static const struct {
	uint32_t type;
	int (*run)(struct loop *loop, const struct link_message *m);
} requests[] = {
	{ LINK_SIGNAL, on_signal }, { LINK_CONTINUE, on_continue }, { LINK_WHO, on_who },
	{ LINK_HANGUP, on_hangup }, { LINK_SOCKET, on_socket },
};

static int on_link(struct loop *loop)
{
	_cleanup_close_ int asked = -1;
	struct link_message messages[LINK_BATCH];
	const struct link_message *m = &messages[0];
	size_t n_fds = 1;
	ssize_t n = fd_pass_receive(loop->launch->link_fd, messages, sizeof(messages), &asked, &n_fds);

	if (n <= 0)
		return n == 0 ? -ECONNRESET : (int)n;
	if ((size_t)n % sizeof(*m) != 0 || n_fds != (m->type == LINK_WHO && m->family == AF_UNIX))
		return -EBADMSG;
	if ((size_t)n > sizeof(*m))
		return are_questions(m, (size_t)n / sizeof(*m)) ? answer_who(loop, m, (size_t)n / sizeof(*m))
								: -EBADMSG;
	loop->asked_fd = asked;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (requests[i].type == m->type)
			return requests[i].run(loop, m);
	return -EBADMSG;
}

static int on_grace(struct loop *loop)
{
	uint64_t times;

	if (read(loop->grace, &times, sizeof(times)) > 0)
		kill(-1, SIGKILL);
	return 0;
}

int launch_loop_open(struct launch *l, struct error *e)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	l->children_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->children_fd < 0)
		return -errno;
	l->grace_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->grace_fd < 0)
		return -errno;
	l->diag_fd = launch_diag_open();
	return l->diag_fd < 0 ? l->diag_fd : launch_confine_init();
}

int launch_loop_run(struct launch *l)
{
	struct loop loop = {
		.launch = l, .children = l->children_fd, .grace = l->grace_fd, .status = LAUNCH_EXIT_FAILED
	};
	int r = 0;

	while (r == 0 && !loop.ended) {
		struct pollfd fds[3 + LAUNCH_LATE_FDS] = {
			{ .fd = loop.children, .events = POLLIN },
			{ .fd = l->link_fd, .events = POLLIN },
			{ .fd = loop.grace, .events = POLLIN },
		};
		int timeout = launch_late_poll(l, &fds[3]);

		if (poll(fds, ARRAY_SIZE(fds), timeout) < 0) {
			if (errno != EINTR)
				r = -errno;
			continue;
		}
		if (fds[0].revents)
			r = on_children(&loop);
		if (r == 0 && fds[1].revents && !loop.ended)
			r = on_link(&loop);
		if (r == 0 && fds[2].revents)
			r = on_grace(&loop);
		if (r == 0 && !loop.ended)
			r = launch_late_serve(l, &fds[3]);
	}
	return loop.status;
}
