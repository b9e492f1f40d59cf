#include "daemon/session/gateway/ask.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/session/events.h"
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/gateway/refusal.h"

struct question {
	TAILQ_ENTRY(question) link;
	struct gateway *gateway;
	struct deadline deadline;
	uint32_t number; /* 0: nobody was told yet */
	bool refused;    /* answered so: there is nothing to wait for */
	struct target target;
};

void ask_open(struct gateway *g)
{
	TAILQ_INIT(&g->asking.questions);
}

static void forget(struct question *q)
{
	struct asking *all = &q->gateway->asking;

	deadline_clear(&q->gateway->deadlines, &q->deadline);
	if (q->refused)
		all->n_refused--;
	else
		all->n_open--;
	TAILQ_REMOVE(&all->questions, q, link);
	free(q);
}

void ask_close(struct gateway *g)
{
	struct question *q;

	while ((q = TAILQ_FIRST(&g->asking.questions)))
		forget(q);
}

/* Rules without a port are for both of these, and so is what they are asked by. */
static bool is_web(uint16_t port)
{
	return port == 80 || port == 443;
}

static struct question *find(const struct gateway *g, const struct target *t)
{
	struct question *q;

	TAILQ_FOREACH (q, &g->asking.questions, link)
		if (strcmp(q->target.name, t->name) == 0 &&
		    (q->target.port == t->port || (is_web(q->target.port) && is_web(t->port))))
			return q;
	return NULL;
}

bool ask_was_refused(const struct connection *c)
{
	const struct question *q = find(c->gateway, &c->target);

	return q && q->refused;
}

void ask_release(struct connection *c)
{
	if (c->question)
		c->gateway->asking.n_held--;
	c->question = NULL;
}

/* Each connection that waits for q, in turn; next: the last one. It may be gone once it has gone on. */
static struct connection *next_held(const struct question *q, struct connection *after)
{
	struct connection *c = after;

	while (c && c->question != q)
		c = TAILQ_NEXT(c, link);
	return c;
}

static bool is_held_for(const struct question *q)
{
	return next_held(q, TAILQ_FIRST(&q->gateway->connections)) != NULL;
}

static void refuse_all(struct question *q, uint32_t reason)
{
	struct connection *c = TAILQ_FIRST(&q->gateway->connections), *next;

	while ((c = next_held(q, c))) {
		next = TAILQ_NEXT(c, link);
		ask_release(c);
		c->verdict.reason = reason;
		if (refuse(c, reason))
			connection_step(c);
		c = next;
	}
}

static void on_lapsed(struct deadline *d)
{
	struct question *q = (struct question *)((char *)d - offsetof(struct question, deadline));
	struct gateway *g = q->gateway;

	refuse_all(q, EGRESS_UNANSWERED);
	if (q->number)
		events_status(g->events, SESSION_ASK_OVER, QUESTION_LAPSED, (int32_t)q->number);
	forget(q);
}

static struct question *begin(struct gateway *g, const struct target *t)
{
	struct question *q = g->asking.n_open < LIMIT_QUESTIONS ? calloc(1, sizeof(*q)) : NULL;

	if (!q)
		return NULL;
	q->gateway = g;
	q->target = *t;
	TAILQ_INSERT_TAIL(&g->asking.questions, q, link);
	g->asking.n_open++;
	deadline_set(&g->deadlines, &q->deadline, DEADLINE_QUESTION, on_lapsed);
	return q;
}

static void tell(struct question *q, const struct connection *c)
{
	struct session_question m = {
		.number = ++q->gateway->asking.last, .via = c->audit.via, .pid = c->audit.pid, .port = c->target.port
	};

	q->number = m.number;
	memcpy(m.name, c->target.name, strlen(c->target.name) + 1);
	if (c->audit.program)
		strncpy(m.program, c->audit.program, sizeof(m.program) - 1);
	events_question(q->gateway->events, &m);
}

static void on_waited(struct deadline *d)
{
	struct connection *c = (struct connection *)((char *)d - offsetof(struct connection, deadline));

	if (c->question && c->question->number == 0)
		tell(c->question, c);
}

bool ask_or_refuse(struct connection *c, connection_step_fn again)
{
	struct gateway *g = c->gateway;
	struct question *q;

	if (c->verdict.reason != EGRESS_ASKED)
		return refuse(c, c->verdict.reason);
	/* A captured one was judged when it came: an answer or other rules may have come since. */
	judge_look(c);
	if (c->verdict.allowed)
		return again(c);
	if (c->verdict.reason != EGRESS_ASKED)
		return refuse(c, c->verdict.reason);
	q = find(g, &c->target);
	if (!q)
		q = begin(g, &c->target);
	if (!q || g->asking.n_held >= LIMIT_HELD_CONNECTIONS)
		return refuse(c, EGRESS_LIMIT);
	g->asking.n_held++;
	c->question = q;
	c->again = again;
	c->state = CONNECTION_HELD;
	deadline_clear(&g->deadlines, &c->deadline);
	/* The question names the program, if it is known soon. */
	if (q->number == 0 && audit_is_asking(c))
		deadline_set(&g->deadlines, &c->deadline, DEADLINE_AUDIT, on_waited);
	return true;
}

bool held_step(struct connection *c)
{
	if (c->client.hangup) {
		ask_release(c);
		audit_end(c, EGRESS_UNANSWERED);
		return connection_close(c);
	}
	if (c->question->number == 0 && !audit_is_asking(c))
		tell(c->question, c);
	return false;
}

static void go_on(struct connection *c)
{
	ask_release(c);
	deadline_clear(&c->gateway->deadlines, &c->deadline);
	if (c->again(c))
		connection_step(c);
}

/* Another question about what still waits: a grant for one connection has let one of them through. */
static void ask_anew(struct question *q)
{
	deadline_set(&q->gateway->deadlines, &q->deadline, DEADLINE_QUESTION, on_lapsed);
	tell(q, next_held(q, TAILQ_FIRST(&q->gateway->connections)));
}

static void refused(struct question *q)
{
	struct gateway *g = q->gateway;
	struct question *old = TAILQ_FIRST(&g->asking.questions);

	deadline_clear(&g->deadlines, &q->deadline);
	q->refused = true;
	g->asking.n_open--;
	g->asking.n_refused++;
	refuse_all(q, EGRESS_OWNER_REFUSED);
	while (g->asking.n_refused > LIMIT_REFUSED_HOSTS && !old->refused)
		old = TAILQ_NEXT(old, link);
	if (g->asking.n_refused > LIMIT_REFUSED_HOSTS)
		forget(old);
}

/* One that is not known any more, or never was, changes nothing. */
void gateway_answered(struct gateway *g, uint32_t number, uint32_t answer)
{
	struct question *q;

	TAILQ_FOREACH (q, &g->asking.questions, link)
		if (q->number == number && !q->refused)
			break;
	if (!q)
		return;
	if (answer == ANSWER_NO)
		refused(q);
	else if (is_held_for(q))
		ask_anew(q);
	else
		forget(q);
}

/* Is there nothing to be asked any more? */
static bool is_moot(const struct question *q)
{
	struct egress_verdict v;

	target_decide(&q->target, q->gateway->rules, 0, &v);
	return v.reason != EGRESS_ASKED;
}

void ask_rules_changed(struct gateway *g)
{
	struct connection *c, *next;
	struct question *q, *later;

	for (c = TAILQ_FIRST(&g->connections); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->state != CONNECTION_HELD)
			continue;
		judge_look(c);
		if (c->verdict.reason != EGRESS_ASKED)
			go_on(c);
	}
	for (q = TAILQ_FIRST(&g->asking.questions); q; q = later) {
		later = TAILQ_NEXT(q, link);
		if (q->refused || is_held_for(q) || !is_moot(q))
			continue;
		if (q->number)
			events_status(g->events, SESSION_ASK_OVER, QUESTION_MOOT, (int32_t)q->number);
		forget(q);
	}
}
