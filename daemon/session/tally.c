#include "daemon/session/tally.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BUCKETS 256

struct tally_entry {
	TAILQ_ENTRY(tally_entry) by_age;
	LIST_ENTRY(tally_entry) by_key;
	uint64_t until;
	struct session_connection refused; /* .count: those that nobody was told of yet */
};

struct tally {
	uv_timer_t timer;
	struct events *events;
	uint64_t window;
	size_t count;
	TAILQ_HEAD(, tally_entry) ages; /* oldest first; one window for all, so also in order of .until */
	LIST_HEAD(, tally_entry) buckets[BUCKETS];
};

int tally_new(uv_loop_t *loop, struct events *events, uint64_t window, struct tally **ret)
{
	struct tally *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = uv_timer_init(loop, &t->timer);
	if (r < 0) {
		free(t);
		return r;
	}
	t->timer.data = t;
	t->events = events;
	t->window = window;
	TAILQ_INIT(&t->ages);
	*ret = t;
	return 0;
}

static unsigned key_hash(const struct session_connection *c)
{
	uint32_t h = 0x811c9dc5 ^ c->via ^ c->protocol << 8 ^ (uint32_t)c->port << 16 ^ c->reason << 4;

	for (size_t i = 0; i < sizeof(c->address); i++)
		h = (h ^ c->address[i]) * 0x01000193;
	for (const char *p = c->name; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x01000193;
	return (h ^ h >> 16) % BUCKETS;
}

static bool same_key(const struct session_connection *a, const struct session_connection *b)
{
	return a->via == b->via && a->peer_uid == b->peer_uid && a->protocol == b->protocol && a->family == b->family &&
	       a->port == b->port && a->reason == b->reason &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0 && strcmp(a->name, b->name) == 0;
}

static void tell_oldest(struct tally *t)
{
	struct tally_entry *entry = TAILQ_FIRST(&t->ages);

	if (entry->refused.count > 0)
		events_connection(t->events, &entry->refused);
	TAILQ_REMOVE(&t->ages, entry, by_age);
	LIST_REMOVE(entry, by_key);
	t->count--;
	free(entry);
}

static void on_timer(uv_timer_t *timer)
{
	struct tally *t = timer->data;
	uint64_t now = uv_now(timer->loop);
	struct tally_entry *entry;

	while ((entry = TAILQ_FIRST(&t->ages)) && entry->until <= now)
		tell_oldest(t);
	if (entry)
		uv_timer_start(timer, on_timer, entry->until - now, 0);
}

void tally_add(struct tally *t, const struct session_connection *refused)
{
	unsigned bucket = key_hash(refused);
	struct tally_entry *entry;

	LIST_FOREACH (entry, &t->buckets[bucket], by_key) {
		if (same_key(&entry->refused, refused)) {
			entry->refused.count++;
			return;
		}
	}
	entry = t->count < TALLY_MAX ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry) {
		events_lost(t->events, 1);
		return;
	}
	events_connection(t->events, refused);
	entry->refused = *refused;
	entry->refused.count = 0;
	entry->until = uv_now(t->timer.loop) + t->window;
	TAILQ_INSERT_TAIL(&t->ages, entry, by_age);
	LIST_INSERT_HEAD(&t->buckets[bucket], entry, by_key);
	if (t->count++ == 0)
		uv_timer_start(&t->timer, on_timer, t->window, 0);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void tally_flush(struct tally *t)
{
	while (!TAILQ_EMPTY(&t->ages))
		tell_oldest(t);
	uv_timer_stop(&t->timer);
}

void tally_close(struct tally *t)
{
	if (!t)
		return;
	tally_flush(t);
	uv_close((uv_handle_t *)&t->timer, on_closed);
}
