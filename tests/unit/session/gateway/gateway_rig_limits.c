#include "gateway_rig_limits.h"

#include <pthread.h>
#include <semaphore.h>

#include "daemon/session/events.h"
#include "daemon/session/gateway/gateway_state.h"

static struct {
	pthread_mutex_t lock;
	struct rig_exceeded exceeded;
	struct session_usage usage;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What the gateway's thread is asked to do. */
static struct {
	uv_async_t wake;
	sem_t changed;
	struct gateway *gateway;
	struct egress_rules *rules;
	const struct rig_change *_Atomic change;
	unsigned closed;
} loop;

static _Atomic uint64_t now;

static struct session_question question;

void events_question(struct events *e, const struct session_question *q)
{
	(void)e;
	pthread_mutex_lock(&told.lock);
	question = *q;
	pthread_mutex_unlock(&told.lock);
}

struct session_question rig_question(void)
{
	struct session_question q;

	pthread_mutex_lock(&told.lock);
	q = question;
	pthread_mutex_unlock(&told.lock);
	return q;
}

void events_budget(struct events *e, uint32_t account, uint32_t direction, uint64_t limit, uint32_t generation)
{
	(void)e;
	(void)generation;
	pthread_mutex_lock(&told.lock);
	told.exceeded = (struct rig_exceeded){ told.exceeded.count + 1, account, direction, limit };
	pthread_mutex_unlock(&told.lock);
}

void events_allowed(struct events *e, const char *name, uint16_t port) {}

void events_usage(struct events *e, const struct session_usage *usage)
{
	(void)e;
	pthread_mutex_lock(&told.lock);
	told.usage = *usage;
	pthread_mutex_unlock(&told.lock);
}

void events_lost(struct events *e, uint64_t n)
{
	(void)e;
	(void)n;
}

static uint64_t given_time(void)
{
	return now;
}

static void on_wake(uv_async_t *handle)
{
	const struct rig_change *change = loop.change;

	if (!change)
		return;
	loop.rules->limits = change->limits;
	loop.rules->budgets = change->budgets;
	loop.rules->n_budgets = change->n_budgets;
	loop.rules->tls = change->tls;
	if (change->idle)
		loop.gateway->deadlines.milliseconds[DEADLINE_IDLE] = change->idle;
	if (change->question)
		loop.gateway->deadlines.milliseconds[DEADLINE_QUESTION] = change->question;
	loop.closed = gateway_rules_changed(loop.gateway);
	loop.change = NULL;
	sem_post(&loop.changed);
	(void)handle;
}

void rig_limits_start(uv_loop_t *l, struct gateway *g, struct egress_rules *rules)
{
	g->clock = given_time;
	loop.gateway = g;
	loop.rules = rules;
	sem_init(&loop.changed, 0, 0);
	uv_async_init(l, &loop.wake, on_wake);
}

void rig_limits_stop(void)
{
	uv_close((uv_handle_t *)&loop.wake, NULL);
}

void rig_unlisted(uint32_t unlisted)
{
	loop.rules->unlisted = unlisted;
}

unsigned rig_change(const struct rig_change *change)
{
	loop.change = change;
	uv_async_send(&loop.wake);
	sem_wait(&loop.changed);
	return loop.closed;
}

void rig_tick(uint64_t ns)
{
	now += ns;
}

struct rig_exceeded rig_exceeded(void)
{
	struct rig_exceeded e;

	pthread_mutex_lock(&told.lock);
	e = told.exceeded;
	pthread_mutex_unlock(&told.lock);
	return e;
}

struct session_usage rig_usage(void)
{
	struct session_usage u;

	pthread_mutex_lock(&told.lock);
	u = told.usage;
	pthread_mutex_unlock(&told.lock);
	return u;
}
