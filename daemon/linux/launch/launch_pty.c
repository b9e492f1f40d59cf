#include "daemon/linux/launch/launch_pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch_step.h"
#include "daemon/wire/link_wire.h"

#define MULTIPLEXER "/dev/pts/ptmx"

int launch_pty_open(const struct launch *l, int *ret_master, int *ret_slave)
{
	_cleanup_close_ int master = open(MULTIPLEXER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct winsize size = { .ws_row = l->plan.rows, .ws_col = l->plan.columns };
	int unlocked = 0, slave;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	if ((size.ws_row || size.ws_col) && ioctl(master, TIOCSWINSZ, &size) < 0)
		return -errno;
	/* By descriptor: a path would depend on what is mounted at /dev/pts. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	*ret_master = take_fd(&master);
	*ret_slave = slave;
	return 0;
}

int launch_pty_make(struct launch *l, struct error *e)
{
	struct link_message message = { .type = LINK_PTY };
	_cleanup_close_ int master = -1;
	ssize_t n;
	int r;

	if (!(l->plan.flags & PLAN_PTY))
		return 0;
	r = launch_pty_open(l, &master, &l->pty_slave);
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "The session's terminal cannot be made: %s.", strerror(-r));
	if (ioctl(l->pty_slave, TIOCSCTTY, 0) < 0)
		return launch_step_fail(e, errno, NULL, "The session's terminal cannot be taken: %s.", strerror(errno));
	n = fd_pass_send(l->link_fd, &message, sizeof(message), &master, 1);
	return n < 0 ? (int)n : 0;
}

int launch_pty_enter(struct launch *l, struct error *e)
{
	if (l->pty_slave < 0)
		/* No terminal, so no job control from outside: a session of its own keeps its signals apart. */
		return setsid() < 0 ? -errno : 0;
	if (l->pty_leads && (setsid() < 0 || ioctl(l->pty_slave, TIOCSCTTY, 0) < 0))
		return launch_step_fail(e, errno, NULL, "The terminal cannot be taken: %s.", strerror(errno));
	if (!l->pty_leads && setpgid(0, 0) < 0)
		return -errno;
	/* We are in the background until this has worked; its stop signal is ignored here and reset before exec. */
	if (tcsetpgrp(l->pty_slave, getpgrp()) < 0)
		return launch_step_fail(e, errno, NULL, "The program cannot be put in the foreground: %s.",
					strerror(errno));
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(l->pty_slave, fd) < 0)
			return -errno;
	return 0;
}

pid_t launch_pty_group(const struct launch *l)
{
	pid_t group = l->pty_slave < 0 ? -1 : tcgetpgrp(l->pty_slave);

	/* Never 1, our own, nor 0: to kill(2) their negatives mean other things than a group. */
	return group > 1 ? group : l->program;
}

int launch_pty_foreground(const struct launch *l)
{
	if (l->pty_slave < 0)
		return 0;
	return tcsetpgrp(l->pty_slave, l->program) < 0 ? -errno : 0;
}
