#ifndef ISOD_LINUX_LAUNCH_WATCH_H
#define ISOD_LINUX_LAUNCH_WATCH_H
/*
 * Folders in which a protected path could appear, watched for new names: fanotify with file handles, which says who; on
 * file systems without those inotify, which does not.
 *
 * Watched are, in every writable granted folder but overlays (their layer is looked through when it is applied): the
 * folder itself and those below it to LAUNCH_WATCH_DEPTH, breadth first, LAUNCH_WATCH_FOLDERS at most, none below
 * node_modules; and at any depth, up to LAUNCH_WATCH_MAX, the folders that a protection goes through (.git, .claude) or
 * is about. New folders of these kinds are watched as they appear, and looked through once, since they may have been
 * filled before. What has a secret name there is remembered (launch_late_secret.h).
 */
#include <poll.h>
#include <stdbool.h>

#include "daemon/linux/watch/launch_late_report.h"
#include "daemon/linux/watch/launch_late_secret.h"
#include "daemon/wire/plan.h"

#define LAUNCH_WATCH_DEPTH 4
#define LAUNCH_WATCH_FOLDERS 512
#define LAUNCH_WATCH_MAX 1024
/* Names read in one look through all, and in one turn. */
#define LAUNCH_WATCH_NAMES 16384
/* Marks ever set: each folder that was moved out of sight keeps one, and its inode in memory. */
#define LAUNCH_WATCH_MARKS 65536
/* Events that may wait. Their queue has no bound, since a lost one may be that of a secret; who makes names so much
 * faster than they can be read that this is passed ends the session. Some 250 MB of the kernel's memory. */
#define LAUNCH_WATCH_WAITING (1U << 20)

struct launch_watch;

/* Takes group (launch_watch_event.h) over; negative: there is none, and inotify serves instead. 0 or -ENOMEM. */
int launch_watch_new(int group, const struct plan *plan, const struct path_rules *rules,
		     struct launch_late_report *report, struct launch_late_secrets *secrets, struct launch_watch **ret);

/* With the rights of the caller: finds the folders; what is there already is no news, unless its lock has gone
 * meanwhile. refuses: the kernel's guard refuses writes to what is protected (l->lock_guard). Returns how many granted
 * folders cannot be watched. */
size_t launch_watch_begin(struct launch_watch *w, bool refuses);
/* Fills two entries. */
void launch_watch_poll(const struct launch_watch *w, struct pollfd fds[2]);
/* A bounded amount of what has happened. 0, or -errno where it cannot be told. */
int launch_watch_serve(struct launch_watch *w);
/* All that had happened when this was called, so that what is asked afterwards is answered by it. */
int launch_watch_catch_up(struct launch_watch *w);
/* Events were lost, and the folders have not been looked through since. */
bool launch_watch_is_behind(const struct launch_watch *w);
/* All that has happened until now, as far as the kernel has kept it. */
void launch_watch_end(struct launch_watch *w);

#endif
