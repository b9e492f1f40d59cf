#include "daemon/session/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/limits.h"
#include "policy/egress_wire.h"

struct control {
	uv_poll_t poll;
	int fd;
	bool ended;
	bool writing; /* the socket was full: its room is watched */
	struct events *events;
	const struct control_handlers *handlers;
	void *data;
};

static void on_poll(uv_poll_t *poll, int status, int events);

static void end(struct control *c, int err)
{
	if (c->ended)
		return;
	c->ended = true;
	uv_poll_stop(&c->poll);
	c->handlers->ended(c->data, err);
}

static void watch(struct control *c, bool writing)
{
	c->writing = writing;
	uv_poll_start(&c->poll, UV_READABLE | (writing ? UV_WRITABLE : 0), on_poll);
}

/* Sending waits for the next turn of the loop: what happens in one turn goes out in one go, and no handler is called
 * from within events_connection(). */
void control_wake(void *data)
{
	struct control *c = data;

	if (!c->ended && !c->writing)
		watch(c, true);
}

struct events *control_events(struct control *c)
{
	return c->events;
}

/* The descriptor stays the caller's on failure. */
static int take_rules(struct control *c, int32_t generation, int fd)
{
	struct egress_rules rules;
	const void *map;
	size_t len;
	int r = generation > 0 ? fd_sealed_map(fd, LIMIT_EGRESS, &map, &len) : -EBADMSG;

	if (r < 0)
		return r;
	r = egress_decode(map, len, &rules);
	munmap((void *)map, len);
	if (r < 0)
		return r;
	fd_close(fd);
	rules.generation = (uint32_t)generation;
	c->handlers->rules(c->data, &rules);
	return 0;
}

static bool brings_descriptor(uint32_t type)
{
	return type == SESSION_ATTACH || type == SESSION_RULES || type == SESSION_OUTPUT;
}

static int dispatch(struct control *c, const struct session_status *m, ssize_t len, const int *fds, size_t n_fds)
{
	if (len != sizeof(*m) || n_fds != brings_descriptor(m->type))
		return -EBADMSG;
	switch (m->type) {
	case SESSION_ATTACH:
		c->handlers->attach(c->data, fds[0], m->kind, (uint32_t)m->value >> 16, (uint32_t)m->value & 0xffff);
		return 0;
	case SESSION_SIGNAL:
		if (m->value <= 0 || m->value > 64)
			return -EBADMSG;
		c->handlers->signal(c->data, m->value);
		return 0;
	case SESSION_ENDING:
		if (m->kind == EXIT_KIND_NONE || m->kind > EXIT_KIND_TIME)
			return -EBADMSG;
		c->handlers->ending(c->data, m->kind, m->value);
		return 0;
	case SESSION_OUTPUT:
		return m->kind == 1 || m->kind == 2 ? c->handlers->output(c->data, fds[0], m->kind == 2) : -EBADMSG;
	case SESSION_ANSWER:
		if (m->kind != ANSWER_YES && m->kind != ANSWER_NO)
			return -EBADMSG;
		c->handlers->answer(c->data, (uint32_t)m->value, m->kind);
		return 0;
	case SESSION_RULES:
		return take_rules(c, m->value, fds[0]);
	default:
		return -EBADMSG;
	}
}

static void receive(struct control *c)
{
	while (!c->ended) {
		struct session_status m;
		int fds[1], r;
		size_t n_fds = 1;
		ssize_t len = fd_pass_receive(c->fd, &m, sizeof(m), fds, &n_fds);

		if (len == -EAGAIN)
			return;
		if (len == -ECONNRESET) /* closed with events unread; its orders from before still wait */
			continue;
		if (len <= 0) {
			end(c, (int)len);
			return;
		}
		r = dispatch(c, &m, len, fds, n_fds);
		if (r < 0) {
			if (n_fds > 0)
				fd_close(fds[0]);
			end(c, r);
		}
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct control *c = poll->data;

	if (status < 0) { /* an error waits on the socket, and libuv has stopped watching: reading tells which */
		receive(c);
		if (!c->ended)
			watch(c, c->writing);
		return;
	}
	if (events & UV_READABLE)
		receive(c);
	if ((events & UV_WRITABLE) && !c->ended) {
		int r = events_flush(c->events, c->fd);

		if (r == -EAGAIN)
			return;
		if (r < 0) {
			end(c, r);
			return;
		}
		watch(c, false);
		c->handlers->flushed(c->data);
	}
}

static void on_closed(uv_handle_t *handle)
{
	free((char *)handle - offsetof(struct control, poll));
}

int control_open(uv_loop_t *loop, int fd, const struct control_handlers *handlers, void *data, struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = fd_set_nonblock(fd, true);
	if (r == 0)
		r = uv_poll_init(loop, &c->poll, fd);
	if (r < 0) {
		free(c);
		return r;
	}
	c->events = events_new(EVENTS_MAX, control_wake, c);
	if (!c->events) {
		uv_close((uv_handle_t *)&c->poll, on_closed);
		return -ENOMEM;
	}
	c->poll.data = c;
	c->fd = fd;
	c->handlers = handlers;
	c->data = data;
	watch(c, false);
	*ret = c;
	return 0;
}

void control_close(struct control *c)
{
	c->ended = true;
	uv_close((uv_handle_t *)&c->poll, NULL);
	c->fd = fd_close(c->fd);
}

void control_free(struct control *c)
{
	if (!c)
		return;
	events_free(c->events);
	free(c);
}
