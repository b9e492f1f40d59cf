#include "daemon/monitor/late.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "base/log.h"
#include "daemon/linux/late_map.h"
#include "daemon/linux/late_pins.h"
#include "daemon/monitor/child_spawn.h"
#include "daemon/wire/late_wire.h"

/* Half a second on a processor of today; under emulation ten. */
#define ANSWER_MS 60000

static int wait_for_answer(struct late *late, int socket, struct error *e)
{
	struct pollfd answered = { .fd = socket, .events = POLLIN };
	struct late_answer answer;
	int fds[LATE_ANSWER_FDS];
	size_t n_fds = LATE_ANSWER_FDS;
	ssize_t n;

	if (poll(&answered, 1, ANSWER_MS) <= 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, ETIMEDOUT, "late guard", "",
				 "isod-late gives no answer.");
	n = fd_pass_receive(socket, &answer, sizeof(answer), fds, &n_fds);
	if (n != sizeof(answer))
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, n < 0 ? (int)-n : 0, "late guard", "",
				 "isod-late ended without an answer.");
	error_sanitise(&answer.error);
	if (answer.error.code != ERROR_NONE || n_fds != LATE_ANSWER_FDS) {
		for (size_t i = 0; i < n_fds; i++)
			fd_close(fds[i]);
		*e = answer.error;
		return -EOPNOTSUPP;
	}
	late->sessions = fds[LATE_ANSWER_SESSIONS];
	late->events = fds[LATE_ANSWER_EVENTS];
	late->folders = fds[LATE_ANSWER_FOLDERS];
	return 0;
}

void late_open(struct late *late, const char *libexec, const char *tag, int null)
{
	const char *const argv[] = { "isod-late", tag, NULL };
	struct error e = ERROR_INIT;
	int ends[2];
	pid_t pid;

	late_pins_path(tag, late->pins, sizeof(late->pins));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		log_warning("late guard: %s", strerror(errno));
		return;
	}
	const struct helper_fd fds[] = { { null, 0 }, { null, 1 }, { 2, 2 }, { ends[1], LATE_FD_ANSWER } };

	pid = helper_spawn(libexec, argv, fds, sizeof(fds) / sizeof(fds[0]));
	fd_close(ends[1]);
	if (pid == -ENOENT)
		log_info("late files are not refused by the kernel: isod-late is not built");
	else if (pid < 0)
		log_warning("late files are not refused by the kernel: isod-late: %s", strerror(-pid));
	else if (wait_for_answer(late, ends[0], &e) < 0)
		log_info("late files are not refused by the kernel: %s", e.message);
	else
		log_info("late files are refused by the kernel, as was seen");
	fd_close(ends[0]);
	if (pid > 0) {
		if (!late_is_on(late))
			kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (!late_is_on(late))
		late_pins_remove(late->pins);
}

void late_close(struct late *late)
{
	if (late_is_on(late))
		late_pins_remove(late->pins);
	late->sessions = fd_close(late->sessions);
	late->events = fd_close(late->events);
	late->folders = fd_close(late->folders);
}

void late_forget(const struct late *late, uint32_t key)
{
	int r;

	if (key == 0 || !late_is_on(late))
		return;
	r = late_map_remove(late->sessions, key);
	if (r < 0)
		log_warning("late guard: a session's record stays: %s", strerror(-r));
}
