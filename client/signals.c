#include "client/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

const int signals_forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, -1 };

static void add_unless_ignored(sigset_t *set, const int *list)
{
	for (; *list >= 0; list++) {
		struct sigaction current;

		if (sigaction(*list, NULL, &current) == 0 && current.sa_handler != SIG_IGN)
			sigaddset(set, *list);
	}
}

int signals_open(const int *more)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	add_unless_ignored(&set, signals_forwarded);
	add_unless_ignored(&set, more);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &set, NULL);
	return fd;
}

int signals_next(int fd)
{
	struct signalfd_siginfo info;
	ssize_t n = read(fd, &info, sizeof(info));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n == sizeof(info) ? (int)info.ssi_signo : -EIO;
}

static void default_and_unblock(int signal_number, sigset_t *old)
{
	sigset_t set;

	signal(signal_number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, old);
}

void signals_die(int signal_number)
{
	default_and_unblock(signal_number, NULL);
	raise(signal_number);
}

void signals_stop(void)
{
	sigset_t old;

	default_and_unblock(SIGTSTP, &old);
	kill(0, SIGTSTP);
	sigprocmask(SIG_SETMASK, &old, NULL);
}
