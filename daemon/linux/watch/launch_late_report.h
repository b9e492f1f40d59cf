#ifndef ISOD_LINUX_LAUNCH_LATE_REPORT_H
#define ISOD_LINUX_LAUNCH_LATE_REPORT_H
/*
 * What pid 1 tells about late files. Each path once a kind, and no more than the link and the log can take: an agent
 * can make files faster than anybody can write them down, so what comes too fast is counted.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/wire/late.h"

/* Reports of one class (late_event_class) that may come at once, and then each second. */
#define LATE_REPORT_BURST 128
#define LATE_REPORT_RATE 4
/* Places of the table of what was told: three quarters are used. */
#define LATE_REPORT_SEEN 8192

struct launch_late_report {
	int link_fd;
	uint32_t held_back;
	unsigned tokens[LATE_CLASSES];
	int64_t refilled; /* monotonic seconds */
	int64_t counted;  /* when held_back was told last: once a second is enough */
	unsigned n_seen;
	uint64_t seen[LATE_REPORT_SEEN]; /* open addressing; 0 = free, 1 = removed */
};

void launch_late_report_init(struct launch_late_report *r, int link_fd);

/* Remembers that it is there and need not be told; false: there is no room for it. forget: it is gone, and news when it
 * comes again. */
bool launch_late_report_know(struct launch_late_report *r, uint32_t kind, const char *path);
bool launch_late_report_knows(struct launch_late_report *r, uint32_t kind, const char *path);
void launch_late_report_forget(struct launch_late_report *r, uint32_t kind, const char *path);

/* pid: as in struct late_event; its program is looked up. 0, or -errno where the link is broken. */
int launch_late_report_path(struct launch_late_report *r, uint32_t kind, uint32_t group, pid_t pid, const char *path);
int launch_late_report_state(struct launch_late_report *r, uint32_t way, uint32_t reason);
/* .type is filled in; waits for room. */
int launch_late_report_event(int link_fd, struct late_event *e);
int launch_late_report_lost(struct launch_late_report *r);
/* What was held back is told as a number, if that is allowed by now; last: in any case, waiting for room. */
int launch_late_report_rest(struct launch_late_report *r, bool last);

#endif
