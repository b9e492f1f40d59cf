#include "daemon/session/gateway/deadline.h"

#include <string.h>

#include "base/limits.h"

static const uint64_t lengths[DEADLINE_LENGTH_COUNT] = {
	[DEADLINE_LOOK] = 5,
	[DEADLINE_DRAIN] = 2000,
	[DEADLINE_AUDIT] = 200,
	[DEADLINE_ATTEMPT] = 250,
	[DEADLINE_PATIENCE] = 2000,
	[DEADLINE_LINGER] = 2000,
	[DEADLINE_SAY] = 30000,
	[DEADLINE_DIAL] = 30000,
	[DEADLINE_IDLE] = 3600 * 1000,
	[DEADLINE_USAGE] = 1000,
	[DEADLINE_QUESTION] = LIMIT_QUESTION_MS,
	[DEADLINE_KEEPALIVE] = 60000,
};

static void on_timer(uv_timer_t *timer);

static void arm(struct deadlines *all)
{
	uint64_t first = 0, now = uv_now(all->timer.loop);

	for (int i = 0; i < DEADLINE_LENGTH_COUNT; i++) {
		const struct deadline *d = TAILQ_FIRST(&all->queues[i]);

		if (d && (first == 0 || d->at < first))
			first = d->at;
	}
	all->armed_for = first;
	if (first)
		uv_timer_start(&all->timer, on_timer, first > now ? first - now : 0, 0);
	else
		uv_timer_stop(&all->timer);
}

static void on_timer(uv_timer_t *timer)
{
	struct deadlines *all = timer->data;
	uint64_t now = uv_now(timer->loop);

	for (int i = 0; i < DEADLINE_LENGTH_COUNT; i++) {
		struct deadline *d;

		while ((d = TAILQ_FIRST(&all->queues[i])) && d->at <= now) {
			deadline_clear(all, d);
			d->fn(d);
		}
	}
	arm(all);
}

void deadlines_open(struct deadlines *all, uv_loop_t *loop)
{
	uv_timer_init(loop, &all->timer);
	all->timer.data = all;
	all->armed_for = 0;
	memcpy(all->milliseconds, lengths, sizeof(lengths));
	for (int i = 0; i < DEADLINE_LENGTH_COUNT; i++)
		TAILQ_INIT(&all->queues[i]);
}

void deadlines_close(struct deadlines *all, uv_close_cb closed)
{
	uv_close((uv_handle_t *)&all->timer, closed);
}

void deadline_set(struct deadlines *all, struct deadline *d, enum deadline_length length,
		  void (*fn)(struct deadline *d))
{
	deadline_clear(all, d);
	/* Never 0, which means unarmed; a millisecond more than asked for, as uv_now() may lag behind. */
	d->at = uv_now(all->timer.loop) + all->milliseconds[length] + 1;
	d->fn = fn;
	d->length = (uint8_t)length;
	d->set = true;
	TAILQ_INSERT_TAIL(&all->queues[length], d, link);
	/* A timer that is too early only costs one look; so it is never moved to a later time here. */
	if ((all->armed_for == 0 || d->at < all->armed_for) && !uv_is_closing((uv_handle_t *)&all->timer)) {
		all->armed_for = d->at;
		uv_timer_start(&all->timer, on_timer, all->milliseconds[length] + 1, 0);
	}
}

void deadline_clear(struct deadlines *all, struct deadline *d)
{
	if (!d->set)
		return;
	TAILQ_REMOVE(&all->queues[d->length], d, link);
	d->set = false;
}
