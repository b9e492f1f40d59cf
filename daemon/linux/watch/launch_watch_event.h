#ifndef ISOD_LINUX_LAUNCH_WATCH_EVENT_H
#define ISOD_LINUX_LAUNCH_WATCH_EVENT_H
/* What a fanotify event about a name says: in which folder, and which file. */
#include <stdbool.h>
#include <stddef.h>
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
/* Events that one read has brought. Those with names are of any length, and the next one is not aligned. */
struct launch_watch_events {
	const char *at;
	size_t left; /* bytes */
};

/* The next event: its head, and where it lies. False: there is none. */
bool launch_watch_event_next(struct launch_watch_events *events, struct fanotify_event_metadata *ret,
			     const char **ret_event);
/* The records behind that head. False: it names nothing. */
bool launch_watch_event_read(const char *event, const struct fanotify_event_metadata *head,
			     struct launch_watch_event *ret);

#endif
