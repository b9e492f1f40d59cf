#include "daemon/linux/net/launch_ssh.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "daemon/launch/launch.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_who.h"
#include "daemon/linux/net/launch_unix.h"
#include "daemon/wire/link_wire.h"

/* A program that finds it full waits in connect(2). */
#define BACKLOG 16

static const struct {
	uint32_t flag; /* enum plan_flags */
	uint32_t type; /* enum link_type */
	const char *name;
	const char *path;
	const char *remedy;
} agents[] = {
	{ PLAN_SSH, LINK_SSH, "ssh-agent", PLAN_SSH_SOCKET,
	  "A policy with \"sshAgent\": {\"enabled\": false} starts it without." },
	{ PLAN_GPG, LINK_GPG, "gpg-agent", PLAN_GPG_SOCKET,
	  "A policy with \"gpgAgent\": {\"enabled\": false} starts it without." },
};

static int make(struct launch *l, size_t i, struct error *e)
{
	struct link_message message = { .type = agents[i].type };
	_cleanup_close_ int fd = launch_unix_listen(agents[i].path, BACKLOG);
	ssize_t n;

	if (fd < 0)
		return launch_step_fail(e, -fd, agents[i].remedy, "The session's %s socket cannot be made: %s.",
					agents[i].name, strerror(-fd));
	n = fd_pass_send(l->link_fd, &message, sizeof(message), &fd, 1);
	return n < 0 ? (int)n : 0;
}

int launch_ssh_make(struct launch *l, struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(agents); i++)
		if (l->plan.flags & agents[i].flag)
			r = make(l, i, e);
	return r;
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
