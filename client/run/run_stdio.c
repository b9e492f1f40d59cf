#include "client/run/run_stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* `cmd > file 2>&1`: one open file, so one pipe, or the order of what is written would be lost. */
static bool is_same_file(int a, int b)
{
	struct stat x, y;

	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b) == 0)
		return true;
	return isatty(a) && isatty(b) && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_rdev == y.st_rdev;
}

static int add_relay(struct run_stdio *s, int fd, struct error *e)
{
	struct relay *relay = &s->relays[s->n_relays];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(e, ERROR_INTERNAL, errno, "stdio", "", "Cannot make a pipe: %s.", strerror(errno));
	if (fd == STDIN_FILENO)
		relay_input(relay, fd, ends[1], ends[0]);
	else
		relay_output(relay, ends[0], fd);
	s->pass[fd] = fd == STDIN_FILENO ? ends[0] : ends[1];
	s->number[s->n_relays++] = fd;
	return 0;
}

int run_stdio_prepare(struct run_stdio *s, struct error *e)
{
	for (int fd = 0; fd < 3; fd++) {
		int r = 0;

		if (fd_is_plain_stream(fd))
			s->pass[fd] = fd;
		else if (fd == STDERR_FILENO && s->pass[STDOUT_FILENO] != STDOUT_FILENO &&
			 is_same_file(STDOUT_FILENO, STDERR_FILENO))
			s->pass[fd] = s->pass[STDOUT_FILENO];
		else
			r = add_relay(s, fd, e);
		if (r < 0)
			return r;
	}
	return 0;
}

void run_stdio_sent(struct run_stdio *s)
{
	for (int fd = 0; fd < 3; fd++) {
		bool shared = fd == STDERR_FILENO && s->pass[fd] == s->pass[STDOUT_FILENO];

		if (s->pass[fd] > STDERR_FILENO && !shared)
			fd_close(s->pass[fd]);
	}
	for (int fd = 0; fd < 3; fd++)
		s->pass[fd] = -1;
}

void run_stdio_done(struct run_stdio *s)
{
	run_stdio_sent(s);
	for (size_t i = 0; i < s->n_relays; i++)
		relay_done(&s->relays[i]);
	s->n_relays = 0;
}
