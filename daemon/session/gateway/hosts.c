#include "daemon/session/gateway/hosts.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = sizeof(((struct hosts *)0)->buckets) / sizeof(((struct hosts *)0)->buckets[0]) };

static unsigned bucket_of(const char *name)
{
	uint32_t h = 0x811c9dc5;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x01000193;
	return (h ^ h >> 16) % BUCKETS;
}

static void forget(struct hosts *all, struct host *host)
{
	LIST_REMOVE(host, link);
	all->count--;
	free(host);
}

/* Those that nothing is known of any more. */
static void sweep(struct hosts *all, unsigned bucket, uint64_t now)
{
	struct host *host, *next;

	for (host = LIST_FIRST(&all->buckets[bucket]); host; host = next) {
		next = LIST_NEXT(host, link);
		if (host->open == 0 && rate_is_full(&host->rate, now))
			forget(all, host);
	}
}

struct host *hosts_get(struct hosts *all, const char *name, uint64_t now)
{
	unsigned bucket = bucket_of(name);
	size_t len = strlen(name) + 1;
	struct host *host;

	LIST_FOREACH (host, &all->buckets[bucket], link)
		if (strcmp(host->name, name) == 0)
			return host;
	sweep(all, bucket, now);
	for (unsigned i = 0; all->count >= HOSTS_MAX && i < BUCKETS; i++)
		sweep(all, i, now);
	host = all->count < HOSTS_MAX ? calloc(1, sizeof(*host) + len) : NULL;
	if (!host)
		return NULL;
	memcpy(host->name, name, len);
	LIST_INSERT_HEAD(&all->buckets[bucket], host, link);
	all->count++;
	return host;
}

void hosts_release(struct hosts *all, struct host *host, uint64_t now)
{
	host->open--;
	if (host->open == 0 && rate_is_full(&host->rate, now))
		forget(all, host);
}

void hosts_done(struct hosts *all)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		while (!LIST_EMPTY(&all->buckets[i]))
			forget(all, LIST_FIRST(&all->buckets[i]));
}
