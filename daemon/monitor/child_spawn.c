#include "daemon/monitor/child_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sanitizer.h"

/* A sanitizer in the helpers is told how to report by the environment; the product passes none. */
#ifdef SANITIZED_BUILD
#define HELPER_ENVIRONMENT environ
#else
static char *const no_environment[] = { NULL };
#define HELPER_ENVIRONMENT no_environment
#endif

static int prepare_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	if (r == 0)
		r = posix_spawnattr_setflags(attributes,
					     POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	return -r;
}

/* Every source is first moved above all targets: a dup2 can then overwrite none that is still needed. */
static int prepare_fds(posix_spawn_file_actions_t *actions, const struct helper_fd *fds, size_t n, int *high)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		high[i] = fcntl(fds[i].from, F_DUPFD_CLOEXEC, HELPER_FD_FLOOR);
		if (high[i] < 0)
			return -errno;
		r = posix_spawn_file_actions_adddup2(actions, high[i], fds[i].to);
		if (r != 0)
			return -r;
	}
	return 0;
}

pid_t helper_spawn(const char *directory, const char *const argv[], const struct helper_fd *fds, size_t n)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int high[HELPER_FDS_MAX];
	char path[PATH_MAX];
	pid_t pid = -1;
	int r;

	if (n > HELPER_FDS_MAX)
		return -EINVAL;
	r = snprintf(path, sizeof(path), "%s/%s", directory, argv[0]);
	if (r < 0 || (size_t)r >= sizeof(path))
		return -ENAMETOOLONG;
	for (size_t i = 0; i < n; i++)
		high[i] = -1;
	r = -posix_spawn_file_actions_init(&actions);
	if (r < 0)
		return r;
	r = -posix_spawnattr_init(&attributes);
	if (r == 0) {
		r = prepare_attributes(&attributes);
		if (r == 0)
			r = prepare_fds(&actions, fds, n, high);
		if (r == 0)
			r = -posix_spawn(&pid, path, &actions, &attributes, (char *const *)argv, HELPER_ENVIRONMENT);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < n; i++)
		fd_close(high[i]);
	return r < 0 ? r : pid;
}
