#ifndef ISOD_SESSION_GATEWAY_HOSTS_H
#define ISOD_SESSION_GATEWAY_HOSTS_H
/* The hosts that a session is, or was a second ago, connected to: how many connections, how fast new ones. Bounded; the
 * clock is the caller's. */
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/session/gateway/rate.h"

/* Twice as many as may be connected to at a time. */
#define HOSTS_MAX 8192

struct host {
	LIST_ENTRY(host) link;
	uint32_t open;
	struct rate rate;
	char name[];
};

struct hosts {
	size_t count;
	LIST_HEAD(, host) buckets[256];
};

/* NULL: no memory, or HOSTS_MAX others are in use. name: canonical, or an address in its presentation form. To be given
 * back by hosts_release() where .open was raised, at once or later; else it goes by itself. */
struct host *hosts_get(struct hosts *all, const char *name, uint64_t now);
/* Lowers .open. */
void hosts_release(struct hosts *all, struct host *host, uint64_t now);
void hosts_done(struct hosts *all);

#endif
