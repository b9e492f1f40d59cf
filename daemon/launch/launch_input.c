#include "daemon/launch/launch_input.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/wire/fds.h"

/* Far above the batch of one table and the largest program that the kernel takes (BPF_MAXINSNS). */
#define RULESET_MAX (1U << 20)
#define FILTER_MAX (4096 * sizeof(struct sock_filter))

static bool is_sealed(int fd)
{
	return fcntl(fd, F_GET_SEALS) > 0;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static bool is_link(int fd)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return false;
	return type == SOCK_SEQPACKET && domain == AF_UNIX;
}

static bool is_folder(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Folders for the session are made in it by name: nobody but root may have a say there. */
static bool is_private_folder(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 && (st.st_mode & 077) == 0;
}

/* /dev/null where nothing is to be kept; launch_input_plan() holds that against the plan. */
static bool is_layer(int fd)
{
	struct stat st;

	return is_private_folder(fd) || (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

/* What it is turns out when it is used. */
static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static const struct {
	int fd;
	const char *name;
	bool (*is)(int fd);
} expected[] = {
	{ 0, "stdin", fd_is_plain_stream },
	{ 1, "stdout", fd_is_plain_stream },
	{ 2, "stderr", fd_is_plain_stream },
	{ LAUNCH_FD_PLAN, "plan", is_sealed },
	{ LAUNCH_FD_CONTEXT, "context", is_sealed },
	{ LAUNCH_FD_REPORT, "report pipe", is_pipe },
	{ LAUNCH_FD_LINK, "link", is_link },
	{ LAUNCH_FD_RULESET, "ruleset", is_sealed },
	{ LAUNCH_FD_SECCOMP, "seccomp filter", is_sealed },
	{ LAUNCH_FD_ETC, "etc folder", is_folder },
	{ LAUNCH_FD_SCRATCH, "scratch folder", is_private_folder },
	{ LAUNCH_FD_LAYERS, "layer folder", is_layer },
	{ LAUNCH_FD_LATE_SESSIONS, "map", is_open },
	{ LAUNCH_FD_LATE_FOLDERS, "iterator", is_open },
};

int launch_input_descriptors(struct launch *l, struct error *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (!expected[i].is(expected[i].fd))
			return error_set(e, ERROR_INTERNAL, EBADF, NULL, NULL, "The launcher's descriptor %d is no %s.",
					 expected[i].fd, expected[i].name);
		if (expected[i].fd > 2 && fd_set_cloexec(expected[i].fd, true) < 0)
			return -errno;
	}
	l->link_fd = LAUNCH_FD_LINK;
	return 0;
}

int launch_input_context(struct launch *l, struct error *e)
{
	const struct launch_context *c;
	const void *data;
	size_t len;
	int r = fd_sealed_map(LAUNCH_FD_CONTEXT, sizeof(*c) + LIMIT_GROUPS * sizeof(uint32_t), &data, &len);

	if (r < 0)
		return r;
	c = data;
	if (len < sizeof(*c) || c->size != len || c->n_groups > LIMIT_GROUPS ||
	    c->size != sizeof(*c) + c->n_groups * sizeof(uint32_t) || c->n_cgroups > LAUNCH_CGROUPS_MAX ||
	    (c->flags & LAUNCH_HAS_UNIFIED && c->n_cgroups == 0))
		return error_set(e, ERROR_INTERNAL, EBADMSG, NULL, NULL, "The launcher's context has the wrong size.");
	if (c->net_uid == 0 || c->net_gid == 0 || c->net_uid == c->uid || c->net_gid == c->gid)
		return error_set(e, ERROR_INTERNAL, EINVAL, NULL, NULL,
				 "The sandbox's own user must be neither root nor the caller.");
	l->context = c;
	return fd_close_from(LAUNCH_FD_CGROUP + (int)c->n_cgroups);
}

static bool keeps_layer(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].flags & PLAN_KEEP)
			return true;
	return false;
}

int launch_input_plan(struct launch *l, struct error *e)
{
	const void *data;
	size_t len;
	int r = fd_sealed_map(LAUNCH_FD_PLAN, LIMIT_PLAN, &data, &len);

	if (r == 0)
		r = plan_decode(data, len, &l->plan, &l->plan_block, e);
	if (r < 0)
		return r;
	if (l->plan.uid != l->context->uid)
		return error_set(e, ERROR_INTERNAL, EPERM, NULL, NULL, "The plan is for uid %u, the caller is uid %u.",
				 l->plan.uid, l->context->uid);
	if (keeps_layer(&l->plan) && !is_private_folder(LAUNCH_FD_LAYERS))
		return error_set(e, ERROR_INTERNAL, EBADF, NULL, NULL, "There is no folder for the layer to be kept.");
	l->trees = calloc(l->plan.n_mounts + 1, sizeof(*l->trees));
	if (!l->trees)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->plan.n_mounts; i++)
		l->trees[i].fd = -1;
	return 0;
}

int launch_input_filter(struct launch *l, struct error *e)
{
	const void *data = NULL;
	size_t len = 0;
	int r = fd_sealed_map(LAUNCH_FD_SECCOMP, FILTER_MAX, &data, &len);

	if (r < 0)
		return r;
	if (len % sizeof(struct sock_filter) != 0)
		return error_set(e, ERROR_INTERNAL, EBADMSG, NULL, NULL, "The seccomp filter has the wrong size.");
	l->filter = data;
	l->filter_len = len / sizeof(struct sock_filter);
	return 0;
}

int launch_input_filters(struct launch *l, struct error *e)
{
	int r = fd_sealed_map(LAUNCH_FD_RULESET, RULESET_MAX, &l->ruleset, &l->ruleset_len);

	return r < 0 ? r : launch_input_filter(l, e);
}

int launch_input_cgroups(struct launch *l, struct error *e)
{
	const struct launch_context *c = l->context;
	uint32_t n = c->n_cgroups - (c->flags & LAUNCH_HAS_UNIFIED ? 1 : 0);

	l->group_fd = -1;
	if (c->flags & LAUNCH_HAS_UNIFIED) {
		l->group_fd = LAUNCH_FD_CGROUP + (int)n;
		if (!is_folder(l->group_fd) || fd_set_cloexec(l->group_fd, true) < 0)
			return error_set(e, ERROR_INTERNAL, EBADF, NULL, NULL, "There is no folder of the cgroup.");
	}
	for (uint32_t i = 0; i < n; i++) {
		int fd = LAUNCH_FD_CGROUP + (int)i, r = fd_write_full(fd, "0", 1);

		fd_close(fd);
		if (r < 0)
			return launch_step_fail(e, -r, "Is the cgroup full, or was it removed by hand?",
						"The session's cgroup %u cannot be entered: %s.", i, strerror(-r));
	}
	return 0;
}

int launch_input_limits(struct launch *l, struct error *e)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, &l->nofile) < 0)
		return -errno;
	raised = l->nofile;
	raised.rlim_cur = raised.rlim_max;
	if (l->context->files_soft < l->nofile.rlim_max)
		l->nofile.rlim_cur = l->context->files_soft;
	return setrlimit(RLIMIT_NOFILE, &raised) < 0 ? -errno : 0;
}
