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
 * filled before.
 */
#include <poll.h>
#include <stdbool.h>

#include "daemon/linux/watch/launch_late_report.h"
#include "daemon/wire/plan.h"

#define LAUNCH_WATCH_DEPTH 4
#define LAUNCH_WATCH_FOLDERS 512
#define LAUNCH_WATCH_MAX 1024
/* Names read in one look through all, and in one turn. */
#define LAUNCH_WATCH_NAMES 16384
/* Marks ever set: each folder that was moved out of sight keeps one, and its inode in memory. */
#define LAUNCH_WATCH_MARKS 65536

struct launch_watch;

/* Needs CAP_SYS_ADMIN, or events would not say who. A descriptor or -errno. */
int launch_watch_group(void);
/* Takes group over; negative: there is none, and inotify serves instead. 0 or -ENOMEM. */
int launch_watch_new(int group, const struct plan *plan, const struct path_rules *rules,
		     struct launch_late_report *report, struct launch_watch **ret);

/* With the rights of the caller: finds the folders; what is there already is no news. Returns how many granted folders
 * cannot be watched. */
size_t launch_watch_begin(struct launch_watch *w);
/* Fills two entries. */
void launch_watch_poll(const struct launch_watch *w, struct pollfd fds[2]);
/* A bounded amount of what has happened. 0, or -errno where it cannot be told. */
int launch_watch_serve(struct launch_watch *w);
/* Events were lost, and the folders have not been looked through since. */
bool launch_watch_is_behind(const struct launch_watch *w);
/* All that has happened until now, as far as the kernel has kept it. */
void launch_watch_end(struct launch_watch *w);

/* A file that is not protected, yet usually run by hand or by a tool on the host. */
bool launch_watch_runs(const char *name);

#endif
