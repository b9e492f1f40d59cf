#include "daemon/linux/net/launch_connector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/linux/launch/launch_confine.h"
#include "daemon/linux/launch/launch_rights.h"
#include "daemon/linux/net/launch_reach.h"
#include "daemon/wire/link_wire.h"

/* Where its one descriptor is. */
#define LINK 3

int launch_connector_find(const struct launch *l, const struct plan_mount *m, struct error *e)
{
	_cleanup_close_ int fd = launch_reach(l, m, m->target, false, e);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISSOCK(st.st_mode) ? take_fd(&fd) : -ENOTSOCK;
}

static int keep_only(int link)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (link != LINK && dup2(link, LINK) < 0)
		return -errno;
	return fd_close_from(LINK + 1);
}

static int drop_rights(const struct launch_context *c)
{
	const struct launch_ids ids = {
		.real_uid = c->uid,
		.effective_uid = c->uid,
		.saved_uid = c->uid,
		.real_gid = c->gid,
		.effective_gid = c->gid,
		.saved_gid = c->gid,
		.groups = c->groups,
		.n_groups = c->n_groups,
	};
	int r = launch_rights_no_new_privs();

	if (r == 0)
		r = launch_rights_bounding();
	if (r == 0)
		r = launch_rights_securebits();
	if (r == 0)
		r = launch_rights_ids(&ids);
	if (r == 0)
		r = launch_rights_capabilities();
	if (r == 0)
		r = launch_rights_not_dumpable();
	return r < 0 ? r : launch_confine_connector();
}

/* By its descriptor: what was looked at is what is connected to. */
static int connect_to(const struct launch *l, const struct plan_mount *m)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct error e = ERROR_INIT;
	_cleanup_close_ int place = launch_connector_find(l, m, &e), fd = -1;

	if (place < 0)
		return place;
	/* -EAGAIN where the service has not accepted those before: isod-session asks again. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", place);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(&fd);
}

static int serve(const struct launch *l)
{
	struct link_message m, answer = { .type = LINK_SOCKET };
	_cleanup_close_ int fd = -1;
	size_t n_fds = 0;
	ssize_t n = fd_pass_receive(LINK, &m, sizeof(m), NULL, &n_fds);

	if (n <= 0)
		return n == 0 ? -ECONNRESET : (int)n;
	if (n != sizeof(m) || m.type != LINK_SOCKET || m.value < 0 || (uint32_t)m.value >= l->plan.n_mounts ||
	    l->plan.mounts[m.value].type != PLAN_MAKE_SOCKET)
		return -EBADMSG;
	fd = connect_to(l, &l->plan.mounts[m.value]);
	answer.query = m.query;
	answer.value = fd < 0 ? fd : 0;
	n = fd_pass_send(LINK, &answer, sizeof(answer), &fd, fd >= 0);
	/* ETOOMANYREFS: another program of this user leaves as many descriptors unread as a user may have under way. */
	if (n < 0 && fd >= 0) {
		answer.value = (int)n;
		n = fd_pass_send(LINK, &answer, sizeof(answer), NULL, 0);
	}
	return n < 0 ? (int)n : 0;
}

int launch_connector_main(const struct launch *l, int link)
{
	int r = keep_only(link);

	if (r == 0)
		r = drop_rights(l->context);
	while (r == 0)
		r = serve(l);
	return r == -ECONNRESET ? 0 : LAUNCH_EXIT_FAILED;
}
