#include "daemon/linux/net/launch_ssh.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_who.h"
#include "daemon/wire/link_wire.h"

/* A program that finds it full waits in connect(2). */
#define BACKLOG 16
#define REMEDY "A policy with \"sshAgent\": {\"enabled\": false} starts it without."

static int make_listener(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = PLAN_SSH_SOCKET };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int r;

	if (fd < 0)
		return -errno;
	/* 0666 from the first moment: nothing that is called so later is changed as root. */
	mask = umask(0111);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return r < 0 ? r : -errno;
	return take_fd(&fd);
}

int launch_ssh_make(struct launch *l, struct error *e)
{
	struct link_message message = { .type = LINK_SSH };
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (!(l->plan.flags & PLAN_SSH))
		return 0;
	fd = make_listener();
	if (fd < 0)
		return launch_step_fail(e, -fd, REMEDY, "The session's ssh-agent socket cannot be made: %s.",
					strerror(-fd));
	n = fd_pass_send(l->link_fd, &message, sizeof(message), &fd, 1);
	return n < 0 ? (int)n : 0;
}

void launch_ssh_who(int fd, int32_t *ret_pid, char *text, size_t size)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	*ret_pid = 0;
	text[0] = '\0';
	/* The number is one of our namespace, for we ask; the process may be gone, or the number another's by now. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0)
		return;
	*ret_pid = peer.pid;
	launch_who_program(peer.pid, text, size);
}
