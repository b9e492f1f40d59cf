#include "daemon/linux/launch/launch_spawn.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/fd.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/wire/fds.h"

/* <linux/keyctl.h> is not everywhere. */
#define JOIN_SESSION_KEYRING 1

pid_t launch_spawn_init(struct launch *l, struct error *e)
{
	pid_t pid = launch_sys_clone3_into(
		CLONE_PARENT | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET, l->group_fd);

	l->group_fd = fd_close(l->group_fd);
	if (pid == -ENODEV)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -pid, "namespaces", "Was it removed by hand?",
				 "The session's cgroup is gone.");
	if (pid < 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -pid, "namespaces",
				 pid == -ENOSPC
					 ? "Too many namespaces are in use: see user.max_*_namespaces in sysctl."
					 : "The kernel must have mount, pid, ipc, uts, net and cgroup namespaces, and "
					   "isod must be root with all capabilities.",
				 "The session's namespaces cannot be made: %s.", strerror(-pid));
	return pid;
}

int launch_spawn_groups(struct launch *l, struct error *e)
{
	return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

int launch_spawn_tie_again(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

int launch_spawn_tie(struct launch *l, struct error *e)
{
	struct pollfd report = { .fd = LAUNCH_FD_REPORT };
	int r = launch_spawn_tie_again();

	if (r < 0)
		return r;
	/* getppid() is 0 whether or not isod lives, since it is outside of our pid namespace; a pipe without a reader
	 * tells that it ended before the line above. */
	if (poll(&report, 1, 0) > 0 && report.revents & POLLERR)
		return error_set(e, ERROR_INTERNAL, EPIPE, NULL, NULL, "isod ended while the session was starting.");
	return 0;
}

int launch_spawn_keyring(struct launch *l, struct error *e)
{
	if (syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return launch_step_fail(e, errno, NULL, "No session keyring can be made: %s.", strerror(errno));
	return 0;
}
