/*
 * pid 1: the stages "view", "network" and "rights of pid 1", in the order of this table.
 *   keeps      after them the link, the terminal, and the uid that lets it signal the program: no more.
 *   must not   be traced, signalled or limited by the program: its real and saved ids are those of nobody inside.
 */
#include "daemon/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch_join.h"
#include "daemon/launch/launch_loop.h"
#include "daemon/launch/launch_report.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_caseless.h"
#include "daemon/linux/view/launch_cover.h"
#include "daemon/linux/watch/launch_guard.h"
#include "daemon/linux/launch/launch_landlock.h"
#include "daemon/linux/watch/launch_late.h"
#include "daemon/linux/net/launch_net.h"
#include "daemon/linux/net/launch_publish.h"
#include "daemon/linux/launch/launch_pty.h"
#include "daemon/linux/launch/launch_rights.h"
#include "daemon/linux/view/launch_search.h"
#include "daemon/linux/view/launch_search_bound.h"
#include "daemon/linux/launch/launch_spawn.h"
#include "daemon/linux/net/launch_ssh.h"
#include "daemon/linux/view/launch_view.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/link_wire.h"

/* Signals as pid 1 needs them: children by signalfd, and none that a terminal or a pipe may raise. */
static int init_signals(struct launch *l, struct error *e)
{
	const int ignored[] = { SIGTTOU, SIGTTIN, SIGTSTP, SIGPIPE, SIGHUP };
	sigset_t children;

	/* So that the modes of what we make are those that we name. */
	umask(0);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (signal(ignored[i], SIG_IGN) == SIG_ERR)
			return -errno;
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -errno;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &children, NULL) < 0)
		return -errno;
	return setsid() < 0 ? -errno : 0;
}

static int start_program(struct launch *l, struct error *e)
{
	int go[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	l->program = fork();
	if (l->program < 0)
		return -errno;
	if (l->program == 0)
		_exit(launch_program_main(l, LAUNCH_FD_REPORT, go[0]));
	fd_close(go[0]);
	l->go_fd = go[1];
	return 0;
}

/* The program's own input and output: held open here, a closed pipe would never be seen to be closed. */
static int let_go_of_stdio(struct launch *l, struct error *e)
{
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(l->null_fd, fd) < 0)
			return -errno;
	l->ruleset_fd = fd_close(l->ruleset_fd);
	l->proc_fd = fd_close(l->proc_fd);
	l->root_fd = fd_close(l->root_fd);
	l->null_fd = fd_close(l->null_fd);
	return 0;
}

static int drop_rights(struct launch *l, struct error *e)
{
	int r = launch_rights_watcher(l->context);

	/* Forgotten by the kernel with the change of ids. */
	return r < 0 ? r : launch_spawn_tie_again();
}

/* Before the fork: what is gone here the program need not give up once more. It looks for itself, though. */
static int drop_bounding(struct launch *l, struct error *e)
{
	return launch_rights_bounding();
}

static int tell_started(struct launch *l, struct error *e)
{
	struct link_message message = { .type = LINK_STARTED, .value = l->program };
	ssize_t n = fd_pass_send(l->link_fd, &message, sizeof(message), NULL, 0);

	return n < 0 ? (int)n : 0;
}

static const struct launch_step steps[] = {
	{ "life of isod", launch_spawn_tie },
	{ "cgroup namespace", launch_spawn_groups },
	{ "signals", init_signals },
	{ "keyring", launch_spawn_keyring },
	{ "procfs", launch_view_proc },
	{ "loopback", launch_net_loopback },
	{ "sysctl", launch_net_sysctl },
	{ "nft ruleset", launch_net_ruleset },
	{ "listening sockets", launch_net_listeners },
	{ "lent ports", launch_publish_lent },
	{ "mount namespace", launch_view_private },
	{ "view root", launch_view_root },
	{ "covers", launch_cover_prepare },
	{ "view mounts", launch_view_mounts },
	{ "names without case", launch_caseless_find },
	{ "late guard", launch_guard_prepare },
	{ "protected files", launch_search },
	{ "pivot root", launch_view_pivot },
	{ "ssh-agent", launch_ssh_make },
	{ "foreign file systems", launch_view_foreign },
	{ "read-only view", launch_view_seal },
	{ "host name", launch_view_hostname },
	{ "terminal", launch_pty_make },
	{ "Landlock rules", launch_landlock_prepare },
	{ "late guard in force", launch_guard_begin },
	{ "bounding set of pid 1", drop_bounding },
	{ "fork", start_program },
	{ "late files", launch_late_open },
	{ "bound of the search", launch_search_bound_check },
	{ "kept for later commands", launch_join_keep },
	{ "stdio of pid 1", let_go_of_stdio },
	{ "rights of pid 1", drop_rights },
	{ "watched folders", launch_late_begin },
	{ "loop of pid 1", launch_loop_open },
	{ "started", tell_started },
};

int launch_init_main(struct launch *l)
{
	struct error e = ERROR_INIT;

	if (launch_step_run(steps, ARRAY_SIZE(steps), l, &e) < 0) {
		launch_report_failed(LAUNCH_FD_REPORT, &e);
		return LAUNCH_EXIT_FAILED;
	}
	/* From here on only the program's process can report; its exec closes the pipe. */
	fd_close(LAUNCH_FD_REPORT);
	(void)!write(l->go_fd, "", 1);
	l->go_fd = fd_close(l->go_fd);
	return launch_loop_run(l);
}
