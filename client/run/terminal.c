#include "client/run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "client/run/terminal_guard.h"

/* State of the process, since a signal handler has no other way to it. */
static struct {
	int fd;
	volatile sig_atomic_t is_raw;
	bool hooked;
	struct termios before;
} terminal = { .fd = -1 };

/* All that end a process and are neither forwarded nor impossible to catch. */
static const int fatal_signals[] = { SIGSEGV, SIGBUS,    SIGILL,  SIGFPE,  SIGABRT, SIGSYS, SIGTRAP,
				     SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO,  SIGPWR };
/* More often than this nobody puts a job into the background before it has run once. */
#define STOPS_MAX 100

void terminal_restore(void)
{
	int saved = errno;

	if (terminal.is_raw) {
		terminal.is_raw = 0;
		/* tcgetpgrp, getpgrp and tcsetattr may be called from a signal handler. */
		if (tcgetpgrp(terminal.fd) == getpgrp())
			while (tcsetattr(terminal.fd, TCSANOW, &terminal.before) < 0 && errno == EINTR)
				;
		terminal_guard_arm(false);
	}
	errno = saved;
}

static void on_fatal(int signal_number)
{
	terminal_restore();
	/* SA_RESETHAND: the default action is back, and takes effect when this returns. */
	raise(signal_number);
}

static void hook_ways_out(void)
{
	struct sigaction action = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND };

	if (terminal.hooked)
		return;
	terminal.hooked = true;
	atexit(terminal_restore);
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++) {
		struct sigaction before;

		if (sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(fatal_signals[i], &action, NULL);
	}
}

/* As the kernel stops a background job that changes the terminal. In the background its settings are those that the
 * shell's line editor uses, and must not be taken for the ones to restore. Where nobody could continue the job, or the
 * signal is ignored, this does nothing. */
static void wait_for_foreground(int fd)
{
	for (int i = 0; i < STOPS_MAX; i++) {
		pid_t foreground = tcgetpgrp(fd);

		if (foreground < 0 || foreground == getpgrp())
			return;
		kill(0, SIGTTOU);
	}
}

int terminal_raw(int fd)
{
	struct termios raw;

	wait_for_foreground(fd);
	if (tcgetattr(fd, &raw) < 0)
		return -errno;
	if (!terminal.is_raw)
		terminal.before = raw;
	terminal.fd = fd;
	hook_ways_out();
	terminal_guard_start(fd, &terminal.before);
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	terminal.is_raw = 1;
	terminal_guard_arm(true);
	while (tcsetattr(fd, TCSANOW, &raw) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void terminal_size(uint16_t *ret_rows, uint16_t *ret_columns)
{
	*ret_rows = 24;
	*ret_columns = 80;
	for (int fd = 0; fd < 3; fd++) {
		struct winsize size;

		if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
			continue;
		*ret_rows = size.ws_row;
		*ret_columns = size.ws_col;
		return;
	}
}

int terminal_open_output(int fd)
{
	char path[32];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return opened < 0 ? -errno : opened;
}
