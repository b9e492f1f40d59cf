#ifndef ISOD_LINUX_LAUNCH_WATCH_EVENT_H
#define ISOD_LINUX_LAUNCH_WATCH_EVENT_H
/* What a fanotify event about a name says: in which folder, and which file. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/fanotify.h>

struct launch_watch_event {
	uint64_t folder; /* keys (launch_watch_folder.h) */
	uint64_t file;
	bool has_file; /* since Linux 5.17 */
	const char *name;
};

/* The group of such events: without a bound to its queue, since what is lost of it is not refused. Needs CAP_SYS_ADMIN,
 * or events would not say who. A descriptor or -errno. */
int launch_watch_event_group(void);
/* How many events wait; 0 where that cannot be told. */
unsigned launch_watch_event_waiting(int group);
/* False: it names nothing. */
bool launch_watch_event_read(const struct fanotify_event_metadata *e, struct launch_watch_event *ret);

#endif
