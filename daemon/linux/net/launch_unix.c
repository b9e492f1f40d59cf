#include "daemon/linux/net/launch_unix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/linux/net/launch_connector.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/view/launch_target.h"
#include "daemon/wire/link_wire.h"

#define BACKLOG 128

_Static_assert(LIMIT_UNIX_PATH == sizeof(((struct sockaddr_un *)0)->sun_path), "as the kernel has it");
_Static_assert(LIMIT_UNIX_PATH <= LINK_TEXT_MAX, "a path is one message's text");

static int check(const struct launch *l, const struct plan_mount *m, struct error *e)
{
	_cleanup_close_ int fd = launch_connector_find(l, m, e);

	if (fd >= 0 || fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
		return 0;
	if (fd == -ELOOP)
		return error_set(e, ERROR_REFUSED, ELOOP, NULL, "Name the path that it leads to.",
				 "The socket %s is a link, or is reached by one that is not followed.", m->target);
	if (fd == -ENOTSOCK)
		return error_set(e, ERROR_REFUSED, ENOTSOCK, NULL, "Take it out of \"allowUnixSockets\".",
				 "%s is no socket.", m->target);
	return fd;
}

/* How many there are. */
static int check_all(struct launch *l, struct error *e)
{
	int n = 0, r = 0;

	for (uint32_t i = 0; r == 0 && i < l->plan.n_mounts; i++) {
		if (l->plan.mounts[i].type != PLAN_MAKE_SOCKET)
			continue;
		r = n++ == 0 ? launch_caller_enter(l->context) : 0;
		if (r == 0)
			r = check(l, &l->plan.mounts[i], e);
	}
	if (r == 0 && n > 0)
		r = launch_caller_leave();
	return r < 0 ? r : n;
}

int launch_unix_begin(struct launch *l, struct error *e)
{
	struct link_message message = { .type = LINK_CONNECTOR };
	int ends[2], r = check_all(l, e);
	ssize_t n;
	pid_t pid;

	if (r <= 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	/* Our parent need not know it: it ends with its last word to isod-session, or with the session's group. */
	pid = launch_sys_clone3_into(0, l->group_fd);
	if (pid == 0)
		_exit(launch_connector_main(l, ends[1]));
	fd_close(ends[1]);
	n = pid < 0 ? pid : fd_pass_send(l->link_fd, &message, sizeof(message), &ends[0], 1);
	fd_close(ends[0]);
	return n < 0 ? (int)n : 0;
}

int launch_unix_listen(const char *path, int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int r;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	/* 0666 from the first moment: nothing that is called so later is changed as root. */
	mask = umask(0111);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0 || listen(fd, backlog) < 0)
		return r < 0 ? r : -errno;
	return take_fd(&fd);
}

static int refuse_place(const struct plan_mount *m, struct error *e)
{
	return error_set(e, ERROR_REFUSED, EROFS, NULL, "Let the service listen at a path in /run, /tmp or your home.",
			 "The socket %s cannot be made in the view: its folder is one of the system's.", m->target);
}

int launch_unix_make(struct launch *l, const struct plan_mount *m, struct error *e)
{
	struct link_message message = { .type = LINK_UNIX, .value = (int32_t)(m - l->plan.mounts) };
	_cleanup_close_ int parent = -1, fd = -1;
	const char *name;
	ssize_t n;

	if (launch_target_is_granted(l, m->target))
		return 0;
	parent = launch_place_parent(l, m->target, &name, e);
	if (parent < 0)
		return parent;
	if (!launch_place_is_own(l, parent))
		return refuse_place(m, e);
	/* A name alone: how long the path is does not matter, and no link is met. The view is entered soon anyway. */
	if (fchdir(parent) < 0)
		return -errno;
	fd = launch_unix_listen(name, BACKLOG);
	if (fd < 0)
		return launch_step_fail(e, -fd, NULL, "The socket %s cannot be made: %s.", m->target, strerror(-fd));
	snprintf(message.text, sizeof(message.text), "%s", m->target);
	n = fd_pass_send(l->link_fd, &message, sizeof(message), &fd, 1);
	return n < 0 ? (int)n : 0;
}
