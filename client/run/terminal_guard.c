#include "client/run/terminal_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/run/terminal_modes.h"

/* Descriptors of the guard; all others are closed, so that it keeps nobody's pipe open. */
enum { GUARD_TTY = 0, GUARD_PIPE = 1, GUARD_END };

struct shared {
	volatile sig_atomic_t is_raw;
	pid_t group; /* of isoctl: a terminal that is another job's now is left alone */
	struct termios before;
	struct terminal_modes modes;
};

static struct shared *shared;

static void put_back(void)
{
	_cleanup_buffer_ struct buffer reset = BUFFER_INIT(4096);

	if (!shared->is_raw || tcgetpgrp(GUARD_TTY) != shared->group)
		return;
	tcsetattr(GUARD_TTY, TCSANOW, &shared->before);
	if (terminal_modes_reset(&shared->modes, &reset) == 0 && reset.len > 0)
		(void)fd_write_full(GUARD_TTY, reset.data, reset.len);
}

/* In a group of its own, so that a signal for isoctl's job spares it; all signals blocked, SIGTTOU too, which else
 * would stop a background process that changes the terminal. */
static void guard(int tty, int end)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setpgid(0, 0);
	prctl(PR_SET_NAME, "terminal-guard");
	if (dup3(tty, 64, O_CLOEXEC) < 0 || dup3(end, 65, O_CLOEXEC) < 0 || dup2(64, GUARD_TTY) < 0 ||
	    dup2(65, GUARD_PIPE) < 0 || fd_close_from(GUARD_END) < 0)
		_exit(1);
	/* Nobody writes: it is over when isoctl is. */
	while (read(GUARD_PIPE, &byte, 1) < 0 && errno == EINTR)
		;
	put_back();
	_exit(0);
}

void terminal_guard_start(int tty, const struct termios *before)
{
	int pair[2];
	pid_t pid;

	if (shared || pipe2(pair, O_CLOEXEC) < 0)
		return;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		shared = NULL;
		fd_close(pair[0]);
		fd_close(pair[1]);
		return;
	}
	shared->group = getpgrp();
	shared->before = *before;
	pid = fork();
	if (pid == 0)
		guard(tty, pair[0]);
	fd_close(pair[0]);
	/* pair[1] stays open as long as this process lives. */
}

void terminal_guard_arm(bool is_raw)
{
	if (shared)
		shared->is_raw = is_raw;
}

void terminal_guard_modes(const struct terminal_modes *modes)
{
	if (shared)
		shared->modes = *modes;
}
