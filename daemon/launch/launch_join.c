/*
 * Joining a session, in two tables. "join" is root, at its end in the session's namespaces, but for that of pids, which
 * only children enter; "watch" gives up its rights and waits for the command.
 *   keeps      the channel to isod-control; after the second table the uid that lets it signal the command: no more.
 *   must not   let the command exec before that; write to 2.
 */
#include "daemon/launch/launch_join.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch_exec.h"
#include "daemon/launch/launch_input.h"
#include "daemon/launch/launch_report.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_confine.h"
#include "daemon/linux/launch/launch_pty.h"
#include "daemon/linux/launch/launch_rights.h"
#include "daemon/linux/launch/launch_spawn.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/wire/exec_wire.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/report.h"

#define HANGUP_GRACE_SECONDS 2
#define NAMESPACES                                                                                                     \
	(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |                                                    \
	 CLONE_NEWNET) /* that of cgroups later: into_cgroup_namespace() */

/* ---- pid 1's part ---- */

int launch_join_keep(struct launch *l, struct error *e)
{
	struct launch_kept kept = { .n_groups = (uint32_t)l->n_groups };
	_cleanup_close_ int state = -1;

	_Static_assert(sizeof(l->groups[0]) == sizeof(kept.groups[0]), "groups are kept as they are");
	memcpy(kept.groups, l->groups, sizeof(kept.groups));
	state = fd_sealed_new("kept", &kept, sizeof(kept));
	if (state < 0)
		return state;
	if (dup3(state, LAUNCH_KEPT_STATE, O_CLOEXEC) < 0)
		return -errno;
	if (l->ruleset_fd < 0)
		fd_close(LAUNCH_KEPT_LANDLOCK);
	else if (dup3(l->ruleset_fd, LAUNCH_KEPT_LANDLOCK, O_CLOEXEC) < 0)
		return -errno;
	return 0;
}

/* ---- joining ---- */

static int tell(const struct exec_message *message, int fd)
{
	ssize_t n = fd_pass_send(LAUNCH_JOIN_FD_CHANNEL, message, sizeof(*message), &fd, fd >= 0);

	return n < 0 ? (int)n : 0;
}

static int tell_failed(const struct error *e)
{
	struct exec_message message = { .type = EXEC_FAILED, .error = *e };

	tell(&message, -1);
	return LAUNCH_EXIT_FAILED;
}

static int check_descriptors(struct launch *l, struct error *e)
{
	int r = launch_rights_not_dumpable();

	/* Forked into a session, it must not be traced by who is there: for uid 0 no change of ids does this. exec
	 * undoes it. */
	if (r < 0)
		return r;
	for (int fd = LAUNCH_FD_PLAN; fd <= LAUNCH_FD_SECCOMP; fd++)
		if (fd_set_cloexec(fd, true) < 0)
			return error_set(e, ERROR_INTERNAL, EBADF, NULL, NULL,
					 "The launcher's descriptor %d is not open.", fd);
	for (int fd = 0; fd <= 2; fd++)
		if (!fd_is_plain_stream(fd))
			return error_set(e, ERROR_INTERNAL, EBADF, NULL, NULL,
					 "The launcher's descriptor %d is no pipe.", fd);
	l->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return l->null_fd < 0 ? -errno : 0;
}

/* The variables of the session with those of the command in their place. */
static const char *const *merge_environment(const struct plan *session, const struct plan *command)
{
	const char **merged = calloc((size_t)session->n_envp + command->n_envp + 1, sizeof(*merged));
	size_t n = 0;

	for (uint32_t i = 0; merged && i < session->n_envp; i++) {
		const char *own = session->envp[i];
		bool replaced = false;

		for (uint32_t k = 0; k < command->n_envp && !replaced; k++)
			replaced = strncmp(own, command->envp[k], strcspn(command->envp[k], "=") + 1) == 0;
		if (!replaced)
			merged[n++] = own;
	}
	for (uint32_t k = 0; merged && k < command->n_envp; k++)
		merged[n++] = command->envp[k];
	return merged;
}

static int take_plan(int fd, const struct launch *l, struct plan *ret, struct error *e)
{
	const void *data;
	void *block;
	size_t len;
	int r = fd_sealed_map(fd, LIMIT_PLAN, &data, &len);

	if (r == 0)
		r = plan_decode(data, len, ret, &block, e);
	if (r == 0 && ret->uid != l->context->uid)
		return error_set(e, ERROR_INTERNAL, EPERM, NULL, NULL, "The plan is for uid %u, the caller is uid %u.",
				 ret->uid, l->context->uid);
	return r;
}

/* The session's plan, with what the command brings of its own. */
static int take_plans(struct launch *l, struct error *e)
{
	struct plan command = { 0 };
	int r = take_plan(LAUNCH_FD_PLAN, l, &l->plan, e);

	if (r == 0)
		r = take_plan(LAUNCH_JOIN_FD_COMMAND, l, &command, e);
	if (r < 0)
		return r;
	l->plan.envp = merge_environment(&l->plan, &command);
	if (!l->plan.envp)
		return -ENOMEM;
	l->plan.argv = command.argv;
	l->plan.cwd = command.cwd;
	l->plan.flags = (l->plan.flags & ~(uint32_t)PLAN_PTY) | (command.flags & PLAN_PTY);
	l->plan.rows = command.rows;
	l->plan.columns = command.columns;
	return 0;
}

static int take_from_pid1(int number)
{
	return launch_sys_result(syscall(SYS_pidfd_getfd, LAUNCH_JOIN_FD_PID1, number, 0));
}

static bool is_callers(const struct launch_context *c, gid_t gid)
{
	for (uint32_t i = 0; i < c->n_groups; i++)
		if (c->groups[i] == gid)
			return true;
	return false;
}

/* The groups that the first program has, and its Landlock rules: what of the start cannot be found out again. */
static int take_kept(struct launch *l, struct error *e)
{
	_cleanup_close_ int state = take_from_pid1(LAUNCH_KEPT_STATE);
	const struct launch_kept *kept;
	const void *data;
	size_t len;
	int r = state < 0 ? state : fd_sealed_map(state, sizeof(*kept), &data, &len);

	if (r == -ESRCH)
		return error_set(e, ERROR_REFUSED, ESRCH, NULL, "See `isoctl sessions`.", "The session has ended.");
	if (r < 0)
		return r;
	kept = data;
	if (len != sizeof(*kept) || kept->n_groups > LAUNCH_GROUPS_MAX)
		return error_set(e, ERROR_INTERNAL, EBADMSG, NULL, NULL, "What pid 1 keeps has the wrong size.");
	for (uint32_t i = 0; i < kept->n_groups; i++) {
		if (!is_callers(l->context, kept->groups[i]))
			return error_set(e, ERROR_INTERNAL, EPERM, NULL, NULL, "Pid 1 keeps a foreign group.");
		l->groups[l->n_groups++] = kept->groups[i];
	}
	if (l->plan.flags & PLAN_NESTING || !(l->context->flags & LAUNCH_HAS_LANDLOCK))
		return 0;
	l->ruleset_fd = take_from_pid1(LAUNCH_KEPT_LANDLOCK);
	return l->ruleset_fd < 0 ? l->ruleset_fd : 0;
}

/* All of them or none: there is nothing to read back. */
static int enter_namespaces(struct launch *l, struct error *e)
{
	if (setns(LAUNCH_JOIN_FD_PID1, NAMESPACES) == 0)
		return 0;
	if (errno == ESRCH)
		return error_set(e, ERROR_REFUSED, ESRCH, NULL, "See `isoctl sessions`.", "The session has ended.");
	return launch_step_fail(e, errno, NULL, "The session's namespaces cannot be entered: %s.", strerror(errno));
}

static int make_terminal(struct launch *l, struct error *e)
{
	struct exec_message message = { .type = EXEC_TERMINAL };
	_cleanup_close_ int master = -1;
	int r;

	if (!(l->plan.flags & PLAN_PTY))
		return 0;
	r = launch_pty_open(l, &master, &l->pty_slave);
	if (r < 0)
		return launch_step_fail(e, -r, NULL, "The command's terminal cannot be made: %s.", strerror(-r));
	l->pty_leads = true;
	return tell(&message, master);
}

static int block_signals(struct launch *l, struct error *e)
{
	const int ignored[] = { SIGTTOU, SIGTTIN, SIGTSTP, SIGPIPE, SIGHUP };
	sigset_t children;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (signal(ignored[i], SIG_IGN) == SIG_ERR)
			return -errno;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	return sigprocmask(SIG_SETMASK, &children, NULL) < 0 ? -errno : 0;
}

static int drop_bounding(struct launch *l, struct error *e)
{
	return launch_rights_bounding();
}

static const struct launch_step join_steps[] = {
	{ "join descriptors", check_descriptors },
	{ "join context", launch_input_context },
	{ "join plan", take_plans },
	{ "join filter", launch_input_filter },
	{ "join cgroups", launch_input_cgroups },
	{ "join limits", launch_input_limits },
	{ "join keyring", launch_spawn_keyring },
	{ "join kept", take_kept },
	{ "join namespaces", enter_namespaces },
	{ "join terminal", make_terminal },
	{ "join signals", block_signals },
	{ "join bounding set", drop_bounding },
};

/* ---- watching ---- */

struct watch {
	struct launch *launch;
	int report; /* read end; -1 once its end was read */
	int children;
	int grace;
	bool hung_up;
	bool failed; /* its error was told */
};

static int leave_stdio(const struct launch *l)
{
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(l->null_fd, fd) < 0)
			return -errno;
	return 0;
}

/* In the watcher, once the command is forked. The tables of steps know one struct launch alone. */
static int give_up_rights(struct launch *l, struct error *e)
{
	int r = leave_stdio(l);

	l->null_fd = fd_close(l->null_fd);
	l->ruleset_fd = fd_close(l->ruleset_fd);
	l->pty_slave = fd_close(l->pty_slave);
	l->group_fd = fd_close(l->group_fd);
	for (int fd = LAUNCH_FD_PLAN; fd <= LAUNCH_FD_SECCOMP; fd++)
		if (fd != LAUNCH_JOIN_FD_CHANNEL)
			fd_close(fd);
	return r < 0 ? r : launch_rights_watcher(l->context);
}

static int open_loop(struct launch *l, struct error *e)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	l->children_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	l->grace_fd = l->children_fd < 0 ? -1 : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->grace_fd < 0)
		return -errno;
	return launch_confine_init();
}

static const struct launch_step watch_steps[] = {
	{ "rights of the watcher", give_up_rights },
	{ "loop of the watcher", open_loop },
};

/* A report is one atomic write: it is whole, or the pipe is at its end, which tells that exec succeeded. */
static int on_report(struct watch *w)
{
	struct launch_report report;
	ssize_t n = read(w->report, &report, sizeof(report));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == sizeof(report) && report.type == REPORT_FAILED) {
		w->failed = true;
		tell_failed(&report.error);
		return 0;
	}
	w->report = fd_close(w->report);
	return w->failed ? 0 : tell(&(struct exec_message){ .type = EXEC_STARTED }, -1);
}

/* 1 once it has ended. */
static int on_child(struct watch *w)
{
	struct exec_message message = { .type = EXEC_EXITED, .kind = EXIT_KIND_CODE };
	struct signalfd_siginfo info;
	int status, r = 0;
	pid_t pid;

	while (read(w->children, &info, sizeof(info)) > 0)
		;
	do
		pid = waitpid(w->launch->program, &status, WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid != w->launch->program)
		return 0;
	while (w->report >= 0 && r == 0)
		r = on_report(w);
	if (w->failed)
		return 1;
	message.value = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (!WIFEXITED(status))
		message.kind = EXIT_KIND_SIGNAL;
	tell(&message, -1);
	return 1;
}

/* Nobody is there any more for whom it runs. */
static int hang_up(struct watch *w)
{
	struct itimerspec grace = { .it_value.tv_sec = HANGUP_GRACE_SECONDS };

	w->hung_up = true;
	kill(-w->launch->program, SIGHUP);
	kill(-w->launch->program, SIGCONT);
	return timerfd_settime(w->grace, 0, &grace, NULL) < 0 ? -errno : 0;
}

static int on_channel(struct watch *w)
{
	struct exec_message message;
	size_t n_fds = 0;
	ssize_t n = fd_pass_receive(LAUNCH_JOIN_FD_CHANNEL, &message, sizeof(message), NULL, &n_fds);

	if (n != sizeof(message) || message.type != EXEC_SIGNAL || message.value < 1 || message.value >= NSIG)
		return hang_up(w);
	kill(-w->launch->program, message.value);
	return 0;
}

static int on_grace(struct watch *w)
{
	uint64_t times;

	if (read(w->grace, &times, sizeof(times)) > 0)
		kill(-w->launch->program, SIGKILL);
	return 0;
}

static int watch_run(struct watch *w)
{
	int r = 0;

	while (r == 0) {
		struct pollfd fds[] = {
			{ .fd = w->report, .events = POLLIN },
			{ .fd = w->children, .events = POLLIN },
			{ .fd = w->hung_up ? -1 : LAUNCH_JOIN_FD_CHANNEL, .events = POLLIN },
			{ .fd = w->grace, .events = POLLIN },
		};

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
			if (errno != EINTR)
				r = -errno;
			continue;
		}
		if (fds[0].revents)
			r = on_report(w);
		if (r == 0 && fds[1].revents)
			r = on_child(w);
		if (r == 0 && fds[2].revents)
			r = on_channel(w);
		if (r == 0 && fds[3].revents)
			r = on_grace(w);
	}
	return r > 0 ? 0 : LAUNCH_EXIT_FAILED;
}

/* Once it is in its group: where cgroup2 is mounted with nsdelegate, a fork into one must not begin outside of the
 * namespace. */
static int into_cgroup_namespace(int report, struct error *e)
{
	if (setns(LAUNCH_JOIN_FD_PID1, CLONE_NEWCGROUP) == 0)
		return 0;
	launch_step_fail(e, errno, NULL, "The namespace of its control group cannot be entered: %s.", strerror(errno));
	launch_report_failed(report, e);
	return -1;
}

/* Its own report pipe, since isod is told nothing of a command. */
static int fork_command(struct launch *l, int report[2], int go[2], struct error *e)
{
	if (pipe2(report, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		return launch_step_fail(e, errno, NULL, "No pipes: %s.", strerror(errno));
	l->program = l->group_fd < 0 ? fork() : launch_sys_fork_into(l->group_fd);
	if (l->program == 0) {
		fd_close(l->null_fd);
		if (into_cgroup_namespace(report[1], e) < 0)
			_exit(LAUNCH_EXIT_FAILED);
		_exit(launch_program_main(l, report[1], go[0]));
	}
	if (l->program > 0)
		return 0;
	l->program = l->program == -1 ? -errno : l->program;
	if (l->program == -EAGAIN)
		return error_set(e, ERROR_LIMIT, EAGAIN, "fork", "End some of its processes.",
				 "The session has as many processes as its limit allows.");
	/* What the kernel says of a pid namespace without its first process. */
	if (l->program == -ENOMEM)
		return error_set(e, ERROR_REFUSED, ESRCH, "fork", "See `isoctl sessions`.",
				 "The session is ending, or has no memory left.");
	return launch_step_fail(e, -l->program, NULL, "The command cannot be forked: %s.", strerror(-l->program));
}

int launch_join_main(struct launch *l)
{
	struct watch w = { .launch = l, .report = -1 };
	struct error e = ERROR_INIT;
	int report[2] = { -1, -1 }, go[2] = { -1, -1 };

	if (launch_step_run(join_steps, ARRAY_SIZE(join_steps), l, &e) < 0 || fork_command(l, report, go, &e) < 0)
		return tell_failed(&e);
	fd_close(report[1]);
	fd_close(go[0]);
	w.report = report[0];
	/* The command ends with this: the other end of its pipe closes. */
	if (launch_step_run(watch_steps, ARRAY_SIZE(watch_steps), l, &e) < 0)
		return tell_failed(&e);
	w.children = l->children_fd;
	w.grace = l->grace_fd;
	(void)!write(go[1], "", 1);
	fd_close(go[1]);
	return watch_run(&w);
}
