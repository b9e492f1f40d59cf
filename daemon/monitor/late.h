#ifndef ISOD_MONITOR_LATE_H
#define ISOD_MONITOR_LATE_H
/*
 * The late guard in the kernel, as isod holds it: its maps, and the attachments that are pinned below /sys/fs/bpf.
 * isod-late loads, proves and pins; here is only bpf(2) on its maps.
 */
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/error.h"
#include "daemon/linux/late/late_map.h"

struct monitor;
struct session;

/* Of one session: so that one that asks for refusals in a loop hides nobody else's, and fills no log. */
struct late_telling {
	unsigned told; /* since .since, loop time */
	uint64_t since;
	uint64_t lost;   /* as the kernel has counted by the last one */
	uint32_t untold; /* since the last one told */
};

struct late {
	int sessions; /* the map, -1 = there is no guard */
	int events;   /* the ring buffer */
	int folders;  /* the iterator */
	bool watched;
	struct late_ring ring;
	uv_poll_t poll;
	char pins[64];
};

#define LATE_INIT                                                                                                      \
	{                                                                                                              \
		.sessions = -1, .events = -1, .folders = -1                                                            \
	}

/* Starts isod-late and waits for it: call before the loop. Where there is no guard to be had, the log says why. null: a
 * descriptor of /dev/null. */
void late_open(struct late *late, const char *libexec, const char *tag, int null);
/* Tells isod-control what is refused, from now on; the loop is there. Where it cannot, the log says so. */
void late_watch(struct monitor *m);
void late_unwatch(struct late *late);
/* The session is about to be over: what it did until now, and how much of it was not told. */
void late_tell_rest(struct session *s);
/* Detaches everything. */
void late_close(struct late *late);

static inline bool late_is_on(const struct late *late)
{
	return late->sessions >= 0;
}

/* The session has ended: 0 is no session. */
void late_forget(const struct late *late, uint32_t key);

#endif
