#ifndef ISOD_LINUX_LAUNCH_LATE_H
#define ISOD_LINUX_LAUNCH_LATE_H
/*
 * Files that appear after the start, where no program in the kernel guards them (fanotify(7)).
 *
 * Opens: every open of a regular file on a granted mount waits for pid 1, which refuses it where the rules deny reading
 * the path as the view shows it. pid 1 must never open a regular file of such a mount itself: it would wait for itself.
 * Folders: launch_watch.h.
 *
 * pid 1 is the one who answers because its end is the session's: there is no moment in which opens go on unanswered
 * (fanotify allows what waits and what comes when the listener is gone). What this does not hold is said in
 * docs/THREATS.md.
 */
#include <poll.h>

#include "daemon/launch/launch.h"

#define LAUNCH_LATE_FDS 3

/* Step, as root: both groups and the marks of the mounts. Where that cannot be, the session goes on without, unless the
 * plan requires it. */
int launch_late_open(struct launch *l, struct error *e);
/* Step, with the caller's rights: the folders that are there now; tells the state. */
int launch_late_begin(struct launch *l, struct error *e);

/* The loop: what to wait for, and for how long at most (-1 = without end); then what has come (.revents), a bounded
 * amount. */
int launch_late_poll(const struct launch *l, struct pollfd fds[LAUNCH_LATE_FDS]);
/* 0, or -errno where the session cannot go on. */
int launch_late_serve(struct launch *l, const struct pollfd fds[LAUNCH_LATE_FDS]);
/* Everybody but pid 1 is gone: tells what is still to be told. */
void launch_late_end(struct launch *l);

#endif
