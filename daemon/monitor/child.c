#include "daemon/monitor/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

/* glibc 2.35 and older have no P_PIDFD by name. */
#define WAIT_PIDFD ((idtype_t)3)

static void on_closed(uv_handle_t *handle)
{
	struct child *c = handle->data;

	c->pidfd = fd_close(c->pidfd);
	c->alive = false;
	c->on_exit(c);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct child *c = poll->data;
	int r;

	do
		r = waitid(WAIT_PIDFD, (id_t)c->pidfd, &c->status, WEXITED | WNOHANG);
	while (r < 0 && errno == EINTR);
	if (r == 0 && c->status.si_pid == 0) {
		/* With a status below zero libuv has stopped watching. */
		if (status < 0)
			uv_poll_start(poll, UV_READABLE, on_readable);
		return;
	}
	uv_close((uv_handle_t *)poll, on_closed);
}

static int fail(pid_t pid, int pidfd, int r)
{
	if (kill(pid, SIGKILL) == 0)
		waitpid(pid, NULL, 0);
	fd_close(pidfd);
	return r;
}

int child_watch(struct child *c, uv_loop_t *loop, pid_t pid, void (*on_exit)(struct child *), void *owner)
{
	siginfo_t probe = { 0 };
	int pidfd, r;

	/* A number that some process told us is acted upon only if it is a child of ours. */
	if (pid <= 1 || waitid(P_PID, (id_t)pid, &probe, WEXITED | WNOHANG | WNOWAIT) < 0)
		return -ECHILD;
	pidfd = syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
	if (pidfd < 0)
		return fail(pid, -1, -errno);
	r = uv_poll_init(loop, &c->poll, pidfd);
	if (r < 0)
		return fail(pid, pidfd, r);
	c->poll.data = c;
	c->pid = pid;
	c->pidfd = pidfd;
	c->alive = true;
	c->status = (siginfo_t){ 0 };
	c->on_exit = on_exit;
	c->owner = owner;
	uv_poll_start(&c->poll, UV_READABLE, on_readable);
	return 0;
}

void child_signal(const struct child *c, int signal)
{
	if (c->alive && c->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, c->pidfd, signal, NULL, 0);
}

void child_kill(const struct child *c)
{
	child_signal(c, SIGKILL);
}

const char *child_describe(const struct child *c, char *text, size_t size)
{
	snprintf(text, size, "%s %d", c->status.si_code == CLD_EXITED ? "exit code" : "signal", c->status.si_status);
	return text;
}
