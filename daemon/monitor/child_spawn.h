#ifndef ISOD_MONITOR_CHILD_SPAWN_H
#define ISOD_MONITOR_CHILD_SPAWN_H
/*
 * Starts a helper with exactly the descriptors of daemon/wire/fds.h. Nothing runs between fork and exec but dup2, so it
 * is safe whatever threads exist. The helper gets no environment, default signals and a session of its own.
 */
#include <stddef.h>
#include <sys/types.h>

struct helper_fd {
	int from; /* one of ours; stays open here */
	int to;   /* its number in the helper */
};

/* Above every fixed number and small enough for any limit. */
#define HELPER_FD_FLOOR 64
#define HELPER_FDS_MAX 24

/* directory/argv[0] is executed. Returns the pid, or -errno, that of exec included. */
pid_t helper_spawn(const char *directory, const char *const argv[], const struct helper_fd *fds, size_t n);

#endif
