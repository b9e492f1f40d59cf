#include "daemon/session/owner.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/session/link.h"

struct question {
	TAILQ_ENTRY(question) link; /* free list or open list */
	uint32_t query;             /* slot in the low 8 bits, generation above: never 0 */
	bool open;
	uint64_t until;
	owner_fn fn;
	void *data;
};

TAILQ_HEAD(question_list, question);

struct owners {
	uv_timer_t timer;
	struct question_list open; /* oldest first, hence in order of .until */
	struct question_list free;
	struct question questions[OWNER_MAX];
};

#define SLOT(query) ((query) % OWNER_MAX)

int owners_new(uv_loop_t *loop, struct owners **ret)
{
	struct owners *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	r = uv_timer_init(loop, &o->timer);
	if (r < 0) {
		free(o);
		return r;
	}
	o->timer.data = o;
	TAILQ_INIT(&o->open);
	TAILQ_INIT(&o->free);
	for (uint32_t i = 0; i < OWNER_MAX; i++) {
		o->questions[i].query = i;
		TAILQ_INSERT_TAIL(&o->free, &o->questions[i], link);
	}
	*ret = o;
	return 0;
}

void owners_free(struct owners *o)
{
	free(o);
}

static void retire(struct owners *o, struct question *q)
{
	q->open = false;
	TAILQ_REMOVE(&o->open, q, link);
	/* At the tail: a late answer should meet a slot that nobody uses yet. */
	TAILQ_INSERT_TAIL(&o->free, q, link);
}

void owners_close(struct owners *o)
{
	struct question *q;

	while ((q = TAILQ_FIRST(&o->open)))
		retire(o, q);
	uv_close((uv_handle_t *)&o->timer, NULL);
}

static void finish(struct owners *o, struct question *q, uint32_t pid, const char *program)
{
	owner_fn fn = q->fn;
	void *data = q->data;

	retire(o, q);
	fn(data, pid, program);
}

static void on_timer(uv_timer_t *timer)
{
	struct owners *o = timer->data;
	uint64_t now = uv_now(timer->loop);
	struct question *q;

	while ((q = TAILQ_FIRST(&o->open)) && q->until <= now)
		finish(o, q, 0, "");
	if (q && !uv_is_closing((uv_handle_t *)timer))
		uv_timer_start(timer, on_timer, q->until - now, 0);
}

static bool peer_address(const struct sockaddr *peer, struct link_message *m)
{
	if (peer->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

		m->port = ntohs(in->sin_port);
		memcpy(m->address, &in->sin_addr, 4);
	} else if (peer->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

		m->port = ntohs(in6->sin6_port);
		memcpy(m->address, &in6->sin6_addr, 16);
	} else {
		return false;
	}
	m->family = peer->sa_family;
	return true;
}

/* A question that is not open yet, with its number in m; NULL when there are too many. */
static struct question *next_question(struct owners *o, struct link_message *m)
{
	struct question *q = TAILQ_FIRST(&o->free);

	if (!q || uv_is_closing((uv_handle_t *)&o->timer))
		return NULL;
	q->query += OWNER_MAX;
	if (q->query < OWNER_MAX) /* wrapped: 0 stands for "full" */
		q->query += OWNER_MAX;
	m->query = q->query;
	return q;
}

static uint32_t open_question(struct owners *o, struct question *q, bool sent, owner_fn fn, void *data)
{
	bool first = TAILQ_EMPTY(&o->open);

	q->open = true;
	q->fn = fn;
	q->data = data;
	q->until = uv_now(o->timer.loop) + (sent ? OWNER_TIMEOUT : 0);
	TAILQ_REMOVE(&o->free, q, link);
	if (sent)
		TAILQ_INSERT_TAIL(&o->open, q, link);
	else
		TAILQ_INSERT_HEAD(&o->open, q, link);
	if (first || !sent)
		uv_timer_start(&o->timer, on_timer, sent ? OWNER_TIMEOUT : 0, 0);
	return q->query;
}

uint32_t owner_ask(struct link *l, const struct sockaddr *peer, const uint8_t to_address[16], uint16_t to_port,
		   owner_fn fn, void *data)
{
	struct link_message m = { .type = LINK_WHO, .to_port = to_port };
	struct question *q = next_question(link_owners(l), &m);

	if (!q)
		return 0;
	memcpy(m.to_address, to_address, sizeof(m.to_address));
	return open_question(link_owners(l), q, peer_address(peer, &m) && link_send_soon(l, &m) == 0, fn, data);
}

uint32_t owner_ask_local(struct link *l, int connection, owner_fn fn, void *data)
{
	struct link_message m = { .type = LINK_WHO, .family = AF_UNIX };
	struct question *q = next_question(link_owners(l), &m);

	return q ? open_question(link_owners(l), q, link_send_fd(l, &m, connection) == 0, fn, data) : 0;
}

void owner_forget(struct link *l, uint32_t handle)
{
	struct owners *o = link_owners(l);
	struct question *q = &o->questions[SLOT(handle)];

	if (q->open && q->query == handle)
		retire(o, q);
}

void owners_answer(struct owners *o, uint32_t query, int32_t pid, const char *text)
{
	struct question *q = &o->questions[SLOT(query)];

	if (q->open && q->query == query)
		finish(o, q, pid > 0 ? (uint32_t)pid : 0, pid > 0 ? text : "");
}

void owners_fail(struct owners *o)
{
	struct question *q;

	TAILQ_FOREACH (q, &o->open, link)
		q->until = 0;
	if (!TAILQ_EMPTY(&o->open))
		uv_timer_start(&o->timer, on_timer, 0, 0);
}
