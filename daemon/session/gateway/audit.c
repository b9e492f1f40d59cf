#include "daemon/session/gateway/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/session/events.h"
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/judge.h"
#include "daemon/session/owner.h"
#include "daemon/session/tally.h"

/* Pipelined requests could make more before the answer comes; those then go without the program's name. */
enum { HELD_MAX = 16 };

struct held_event {
	struct held_event *next;
	struct session_connection event;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* A refusal that costs a program nothing: as fast as it can connect, it would fill the log. */
static bool is_repeated(const struct connection *c, const struct session_connection *e)
{
	bool bounded = e->reason == EGRESS_RATE || e->reason == EGRESS_BUDGET ||
		       (e->reason == EGRESS_LIMIT && c->refusal.retry_after > 0);

	return bounded && e->count <= 1 && e->bytes_up + e->bytes_down == 0;
}

static void send_event(struct connection *c, struct session_connection *e)
{
	e->pid = c->audit.pid;
	if (c->audit.program)
		snprintf(e->program, sizeof(e->program), "%s", c->audit.program);
	if (is_repeated(c, e))
		tally_add(c->gateway->repeated, e);
	else
		events_connection(c->gateway->events, e);
}

static void release(struct connection *c)
{
	struct held_event *oldest = NULL;

	while (c->audit.held) {
		struct held_event *h = c->audit.held;

		c->audit.held = h->next;
		h->next = oldest;
		oldest = h;
	}
	c->audit.n_held = 0;
	while (oldest) {
		struct held_event *h = oldest;

		oldest = h->next;
		send_event(c, &h->event);
		free(h);
	}
}

static void on_owner(void *data, uint32_t pid, const char *program)
{
	struct connection *c = data;

	c->audit.question = 0;
	c->audit.pid = pid;
	c->audit.program = program[0] ? strdup(program) : NULL;
	release(c);
	if (c->state == CONNECTION_CLOSED)
		connection_close(c);
	else /* A reply may have waited for this. */
		poller_again(&c->gateway->poller, &c->client);
}

void audit_open(struct connection *c, const struct sockaddr *peer, const struct address_port *to)
{
	c->audit.question = owner_ask(c->gateway->link, peer, to->address, to->port, on_owner, c);
}

void audit_begin(struct connection *c, uint32_t via)
{
	if (c->audit.count == 0) {
		c->audit.started = now_ns();
		c->audit.via = via;
		c->audit.bytes_up = c->audit.bytes_down = 0;
		c->audit.by_proxy = false;
	}
	c->audit.count++;
}

void audit_dialled(struct connection *c, uint8_t family, const uint8_t address[16])
{
	c->audit.family = family;
	memcpy(c->audit.address, address, 16);
}

void audit_count(struct connection *c)
{
	c->audit.bytes_up += c->up.bytes;
	c->audit.bytes_down += c->down.bytes;
	c->up.bytes = c->down.bytes = 0;
}

/* Keeps the event until the program is known. */
static void hold(struct connection *c, struct session_connection *event)
{
	struct audit *a = &c->audit;
	struct held_event *h = NULL;

	if (a->question && a->n_held < HELD_MAX)
		h = malloc(sizeof(*h));
	if (!h) {
		send_event(c, event);
		return;
	}
	h->event = *event;
	h->next = a->held;
	a->held = h;
	a->n_held++;
}

void audit_end(struct connection *c, uint32_t reason)
{
	struct audit *a = &c->audit;
	uint32_t served = a->learned ? EGRESS_LEARNED : EGRESS_ALLOWED;
	struct session_connection e = { .via = a->via,
					.reason = reason == EGRESS_ALLOWED ? served : reason,
					.allowed = reason == EGRESS_ALLOWED,
					.rule = c->verdict.rule,
					.generation = c->gateway->rules->generation,
					/* A kept connection was asked for in an earlier event. */
					.by_proxy = a->by_proxy || c->by_proxy,
					.protocol = IPPROTO_TCP,
					.family = a->family,
					.port = c->target.port,
					.count = a->count };

	judge_release(c);
	if (a->count == 0)
		return;
	audit_count(c);
	e.bytes_up = a->bytes_up;
	e.bytes_down = a->bytes_down;
	e.duration_us = (now_ns() - a->started) / 1000;
	memcpy(e.address, a->address, a->family == AF_INET6 ? 16 : a->family == AF_INET ? 4 : 0);
	snprintf(e.name, sizeof(e.name), "%s", c->target.name);
	if (reason != EGRESS_ALLOWED && a->count > 1) {
		/* Only the last of the run was refused. */
		e.allowed = 1;
		e.reason = served;
		e.count = a->count - 1;
		hold(c, &e);
		e.allowed = 0;
		e.reason = reason;
		e.count = 1;
		e.bytes_up = e.bytes_down = 0;
	}
	hold(c, &e);
	a->count = 0;
}

bool audit_is_asking(const struct connection *c)
{
	return c->audit.question != 0;
}

bool audit_is_waiting(const struct connection *c)
{
	return c->audit.held && c->audit.question;
}

void audit_done(struct connection *c)
{
	judge_release(c);
	if (c->audit.question)
		owner_forget(c->gateway->link, c->audit.question);
	c->audit.question = 0;
	release(c);
	free(c->audit.program);
	c->audit.program = NULL;
}
