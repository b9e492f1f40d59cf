/*
 * Stage "program". Forked by pid 1 as root; becomes the caller's command.
 *   keeps      0, 1, 2; the caller's uid and gid; the group of the project, if the caller has it.
 *   gives up   everything else, each step read back from the kernel.
 *   must not   hold the link; exec before pid 1 has given up its own rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch.h"
#include "daemon/launch/launch_exec.h"
#include "daemon/launch/launch_report.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_landlock.h"
#include "daemon/linux/launch/launch_pty.h"
#include "daemon/linux/launch/launch_rights.h"

/* Where the two descriptors lie until exec. */
#define REPORT_FD 3
#define GO_FD 4

static bool is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* The caller's /dev/null is the host's: uid 0 could take its mode away from everybody, through the descriptor alone.
 * The view's is on a mount that is read-only by now. */
static int own_null(struct launch *l, struct error *e)
{
	for (int fd = 0; fd <= 2; fd++) {
		int flags, own, r;

		if (!is_null(fd))
			continue;
		flags = fcntl(fd, F_GETFL);
		own = flags < 0 ? -1 : open("/dev/null", (flags & O_ACCMODE) | O_NOFOLLOW | O_CLOEXEC);
		if (own < 0)
			return launch_step_fail(e, errno, NULL, "The view's /dev/null cannot be opened: %s.",
						strerror(errno));
		r = !is_null(own) ? -EPERM : (dup2(own, fd) < 0 ? -errno : 0);
		fd_close(own);
		if (r < 0)
			return r;
	}
	return 0;
}

static int reset_signals(struct launch *l, struct error *e)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			/* The C library keeps two numbers for itself and refuses them. */
			sigaction(sig, &standard, NULL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int set_limits(struct launch *l, struct error *e)
{
	struct rlimit no_core = { 0, 0 };

	umask(l->plan.umask);
	if (setrlimit(RLIMIT_NOFILE, &l->nofile) < 0 || setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	return 0;
}

static int drop_bounding(struct launch *l, struct error *e)
{
	return launch_rights_bounding();
}

static int lock_securebits(struct launch *l, struct error *e)
{
	return launch_rights_securebits();
}

static int become_caller(struct launch *l, struct error *e)
{
	const struct launch_context *c = l->context;
	struct launch_ids ids = {
		.real_uid = c->uid,
		.effective_uid = c->uid,
		.saved_uid = c->uid,
		.real_gid = c->gid,
		.effective_gid = c->gid,
		.saved_gid = c->gid,
		.groups = l->groups,
		.n_groups = l->n_groups,
	};

	return launch_rights_ids(&ids);
}

static int drop_capabilities(struct launch *l, struct error *e)
{
	return launch_rights_capabilities();
}

static int no_new_privs(struct launch *l, struct error *e)
{
	return launch_rights_no_new_privs();
}

static int enter_folder(struct launch *l, struct error *e)
{
	char path[LIMIT_PATH];

	if (chdir(l->plan.cwd) < 0)
		return error_set(e, ERROR_INVALID, errno, NULL, NULL,
				 "The working directory %s cannot be entered in the sandbox: %s.", l->plan.cwd,
				 strerror(errno));
	/* A folder outside of the root has no path from there; the system call then says "(unreachable)". */
	if (syscall(SYS_getcwd, path, sizeof(path)) < 0)
		return -errno;
	if (path[0] != '/')
		return launch_step_fail(e, EXDEV, NULL, "The working directory %s is outside of the view.",
					l->plan.cwd);
	return 0;
}

static int wait_for_pid1(struct launch *l, struct error *e)
{
	char byte;
	ssize_t n = fd_read_full(GO_FD, &byte, 1);

	if (n < 0)
		return (int)n;
	/* End of file: pid 1 failed and has said so itself. */
	return n == 1 ? 0 : -ECANCELED;
}

static int load_filter(struct launch *l, struct error *e)
{
	struct sock_fprog program = { .len = (unsigned short)l->filter_len, .filter = (void *)l->filter };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return launch_step_fail(e, errno, "The kernel needs CONFIG_SECCOMP_FILTER.",
					"The system call filter cannot be loaded: %s.", strerror(errno));
	return 0;
}

static const struct launch_step steps[] = {
	{ "program session", launch_pty_enter }, { "program null device", own_null },
	{ "program signals", reset_signals },    { "program limits", set_limits },
	{ "bounding set", drop_bounding },       { "secure bits", lock_securebits },
	{ "user and group", become_caller },     { "capabilities", drop_capabilities },
	{ "no new privileges", no_new_privs },   { "working directory", enter_folder },
	{ "Landlock", launch_landlock_enter },   { "wait for pid 1", wait_for_pid1 },
	{ "seccomp filter", load_filter },
};

/* Everything but 0, 1, 2, the report and the signal to go. */
static int arrange(struct launch *l, int report, int go)
{
	/* Out of the way first: any of them may lie where another is to be. */
	int copies[] = { fcntl(report, F_DUPFD_CLOEXEC, 16), fcntl(go, F_DUPFD_CLOEXEC, 16),
			 l->pty_slave < 0 ? -1 : fcntl(l->pty_slave, F_DUPFD_CLOEXEC, 16),
			 l->ruleset_fd < 0 ? -1 : fcntl(l->ruleset_fd, F_DUPFD_CLOEXEC, 16) };
	int *places[] = { NULL, NULL, &l->pty_slave, &l->ruleset_fd };

	for (int i = 0; i < (int)ARRAY_SIZE(copies); i++) {
		if (copies[i] < 0 && (!places[i] || *places[i] >= 0))
			return -EBADF;
		if (copies[i] < 0)
			continue;
		if (dup3(copies[i], REPORT_FD + i, O_CLOEXEC) < 0)
			return -errno;
		if (places[i])
			*places[i] = REPORT_FD + i;
	}
	if (l->pty_slave < 0)
		fd_close(REPORT_FD + 2);
	if (l->ruleset_fd < 0)
		fd_close(REPORT_FD + 3);
	return fd_close_from(REPORT_FD + (int)ARRAY_SIZE(copies));
}

int launch_program_main(struct launch *l, int report, int go)
{
	struct error e = ERROR_INIT;
	int r = arrange(l, report, go);

	if (r < 0) {
		launch_step_fail(&e, -r, NULL, "The program's descriptors cannot be arranged: %s.", strerror(-r));
		launch_report_failed(report, &e);
		return LAUNCH_EXIT_FAILED;
	}
	r = launch_step_run(steps, ARRAY_SIZE(steps), l, &e);
	if (r == 0)
		r = launch_exec(l->plan.argv, l->plan.envp, &e);
	if (r != -ECANCELED)
		launch_report_failed(REPORT_FD, &e);
	return launch_exec_status(&e);
}
