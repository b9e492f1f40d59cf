#include "daemon/session/agent/agent_told.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Milliseconds in which like requests are counted together. */
#define WINDOW 1000
/* Entries at once, and so many more a second: a rebase signs some ten commits in one. */
#define BURST 500
#define PER_SECOND 20

struct agent_told {
	uv_timer_t timer;
	struct events *events;
	struct session_agent last; /* .count: those that nobody was told of yet */
	bool follows;              /* the timer runs: .last is being counted */
	uint64_t tokens;           /* thousandths of an entry */
	uint64_t filled;           /* when */
};

int agent_told_new(uv_loop_t *loop, struct events *events, struct agent_told **ret)
{
	struct agent_told *t = calloc(1, sizeof(*t));
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
	t->tokens = BURST * 1000;
	t->filled = uv_now(loop);
	*ret = t;
	return 0;
}

static void tell(struct agent_told *t, const struct session_agent *s)
{
	uint64_t now = uv_now(t->timer.loop);

	t->tokens += (now - t->filled) * PER_SECOND;
	if (t->tokens > BURST * 1000)
		t->tokens = BURST * 1000;
	t->filled = now;
	if (t->tokens < 1000) {
		events_lost(t->events, s->count);
		return;
	}
	t->tokens -= 1000;
	events_agent(t->events, s);
}

static void tell_rest(struct agent_told *t)
{
	if (t->follows && t->last.count > 0)
		tell(t, &t->last);
	t->follows = false;
}

static void on_timer(uv_timer_t *timer)
{
	tell_rest(timer->data);
}

static bool is_alike(const struct session_agent *a, const struct session_agent *b)
{
	return a->request == b->request && a->reason == b->reason && a->pid == b->pid && a->code == b->code &&
	       a->keys == b->keys && strcmp(a->fingerprint, b->fingerprint) == 0 && strcmp(a->target, b->target) == 0;
}

void agent_told_add(struct agent_told *t, const struct session_agent *s)
{
	if (t->follows && is_alike(&t->last, s)) {
		t->last.count++;
		return;
	}
	tell_rest(t);
	t->last = *s;
	t->last.count = 1;
	tell(t, &t->last);
	t->last.count = 0;
	t->follows = true;
	uv_timer_start(&t->timer, on_timer, WINDOW, 0);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void agent_told_close(struct agent_told *t)
{
	tell_rest(t);
	uv_close((uv_handle_t *)&t->timer, on_closed);
}
