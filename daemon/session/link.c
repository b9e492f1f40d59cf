#include "daemon/session/link.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/session/owner.h"
#include "daemon/wire/plan.h"

/* Messages that wait for room: every open question and some signals. */
#define QUEUE_MAX 320
/* Messages read in one turn of the loop, so that a chatty pid 1 starves nobody. */
#define READS_MAX 64

struct link {
	uv_poll_t poll;
	int fd;
	bool ended;
	bool started; /* LINK_STARTED has come */
	const struct link_handlers *handlers;
	void *data;
	struct owners *owners;
	struct link_message *queue; /* ring, made at the first need */
	size_t first, count;
	uv_prepare_t prepare; /* runs while there are questions in .soon */
	struct link_message soon[LINK_BATCH];
	size_t n_soon;
};

/* How many descriptors each message brings, whether the other end may send it at all, and whether only before the
 * program runs: what there is to serve is settled by then. */
static const struct {
	bool incoming;
	size_t fds;
	bool early;
} shapes[LINK_TYPE_END] = {
	[LINK_LISTENERS] = { true, LISTENER_COUNT, true },
	[LINK_PTY] = { true, 1, true },
	[LINK_PORT] = { true, 1, true },
	[LINK_SOCKET] = { true, 1 }, /* unless it says why there is none */
	[LINK_STARTED] = { true, 0 },
	[LINK_STOPPED] = { true, 0 },
	[LINK_CONTINUED] = { true, 0 },
	[LINK_EXITED] = { true, 0 },
	[LINK_OWNER] = { true, 0 },
	[LINK_SSH] = { true, 1, true },
	[LINK_GPG] = { true, 1, true },
	[LINK_UNIX] = { true, 1, true },
	[LINK_CONNECTOR] = { true, 1, true },
};

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct link *l)
{
	if (!l->ended)
		uv_poll_start(&l->poll, UV_READABLE | (l->count > 0 ? UV_WRITABLE : 0), on_poll);
}

static void end(struct link *l, int err)
{
	if (l->ended)
		return;
	l->ended = true;
	uv_poll_stop(&l->poll);
	l->count = 0;
	owners_fail(l->owners);
	l->handlers->ended(l->data, err);
}

static bool exit_is_valid(const struct link_message *m)
{
	switch (m->kind) {
	case EXIT_KIND_CODE:
		return m->value >= 0 && m->value <= 255;
	case EXIT_KIND_SIGNAL:
		return m->value > 0 && m->value < 128;
	case EXIT_KIND_LOST:
	case EXIT_KIND_TIME:
		return true;
	default:
		return false;
	}
}

static size_t fds_of(const struct link_message *m)
{
	return m->type == LINK_SOCKET && m->value < 0 ? 0 : shapes[m->type].fds;
}

static int take_answers(struct link *l, const struct link_message *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].type != LINK_OWNER || memchr(m[i].text, 0, sizeof(m[i].text)) == NULL)
			return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		owners_answer(l->owners, m[i].query, m[i].value, m[i].text);
	return 0;
}

static int dispatch(struct link *l, const struct link_message *m, ssize_t len, const int *fds, size_t n_fds)
{
	if (m->type == LINK_OWNER && (size_t)len > sizeof(*m) && (size_t)len % sizeof(*m) == 0 && n_fds == 0)
		return take_answers(l, m, (size_t)len / sizeof(*m));
	if (len != sizeof(*m) || m->type >= LINK_TYPE_END || !shapes[m->type].incoming || fds_of(m) != n_fds ||
	    memchr(m->text, 0, sizeof(m->text)) == NULL)
		return -EBADMSG;
	if (l->started && shapes[m->type].early)
		return -EPROTO;
	l->started |= m->type == LINK_STARTED;
	if ((m->type == LINK_EXITED && !exit_is_valid(m)) ||
	    (m->type == LINK_STOPPED && (m->value <= 0 || m->value >= 128)))
		return -EBADMSG;
	if (m->type == LINK_PORT && ((m->family != AF_INET && m->family != AF_INET6) || m->port == 0 ||
				     m->to_port == 0 || m->kind == 0 || m->kind >= PLAN_PORT_WAY_END))
		return -EBADMSG;
	switch (m->type) {
	case LINK_LISTENERS:
		l->handlers->listeners(l->data, fds);
		break;
	case LINK_PTY:
		l->handlers->pty(l->data, fds[0]);
		break;
	case LINK_SSH:
	case LINK_GPG:
		l->handlers->agent(l->data, m->type, fds[0]);
		break;
	case LINK_CONNECTOR:
	case LINK_UNIX:
		l->handlers->unix_socket(l->data, m, fds[0]);
		break;
	case LINK_PORT:
		l->handlers->port(l->data, fds[0], m->kind, m->to_port);
		break;
	case LINK_SOCKET:
		l->handlers->socket(l->data, m->query, n_fds == 1 ? fds[0] : m->value);
		break;
	case LINK_OWNER:
		owners_answer(l->owners, m->query, m->value, m->text);
		break;
	default:
		l->handlers->status(l->data, m);
		break;
	}
	return 0;
}

static int dispatch_late(struct link *l, const struct late_event *e, ssize_t len, size_t n_fds)
{
	if (n_fds > 0 || !late_event_is_valid(e, (size_t)len))
		return -EBADMSG;
	l->handlers->late(l->data, e);
	return 0;
}

static void receive(struct link *l)
{
	for (int i = 0; i < READS_MAX && !l->ended; i++) {
		union {
			struct link_message message[LINK_BATCH];
			struct late_event late;
		} m;
		int fds[LISTENER_COUNT], r;
		size_t n_fds = LISTENER_COUNT;
		ssize_t len = fd_pass_receive(l->fd, &m, sizeof(m), fds, &n_fds);

		if (len == -EAGAIN)
			return;
		/* The other end left something unread when it closed. What it sent before, its last word, still waits.
		 */
		if (len == -ECONNRESET)
			continue;
		if (len <= 0) {
			end(l, (int)len);
			return;
		}
		if ((size_t)len < sizeof(m.message[0].type))
			r = -EBADMSG;
		else if (m.message[0].type == LINK_LATE)
			r = dispatch_late(l, &m.late, len, n_fds);
		else
			r = dispatch(l, m.message, len, fds, n_fds);
		if (r < 0) {
			while (n_fds > 0)
				fd_close(fds[--n_fds]);
			end(l, r);
		}
	}
}

static void flush(struct link *l)
{
	while (l->count > 0) {
		ssize_t r = fd_pass_send(l->fd, &l->queue[l->first], sizeof(*l->queue), NULL, 0);

		if (r < 0) {
			/* -EPIPE and the like: the reading side tells. What was sent before the end must still be read.
			 */
			if (r != -EAGAIN)
				l->count = 0;
			return;
		}
		l->first = (l->first + 1) % QUEUE_MAX;
		l->count--;
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct link *l = poll->data;

	if (status < 0) { /* an error waits on the socket, and libuv has stopped watching: reading tells which */
		receive(l);
		watch(l);
		return;
	}
	if (events & UV_WRITABLE) {
		flush(l);
		watch(l);
	}
	if (events & UV_READABLE)
		receive(l);
}

int link_send(struct link *l, const struct link_message *message)
{
	if (l->ended)
		return -EPIPE;
	if (l->count == 0) {
		ssize_t r = fd_pass_send(l->fd, message, sizeof(*message), NULL, 0);

		if (r != -EAGAIN)
			return r < 0 ? (int)r : 0;
	}
	if (!l->queue)
		l->queue = calloc(QUEUE_MAX, sizeof(*l->queue));
	if (!l->queue)
		return -ENOMEM;
	if (l->count == QUEUE_MAX)
		return -ENOBUFS;
	l->queue[(l->first + l->count++) % QUEUE_MAX] = *message;
	watch(l);
	return 0;
}

static void send_soon(struct link *l)
{
	size_t n = l->n_soon;
	ssize_t r = l->ended || l->count > 0 ? -EAGAIN : fd_pass_send(l->fd, l->soon, n * sizeof(l->soon[0]), NULL, 0);

	l->n_soon = 0;
	uv_prepare_stop(&l->prepare);
	/* What finds no room now waits in the queue; what fails is a question that runs into its time limit. */
	for (size_t i = 0; r == -EAGAIN && i < n; i++)
		(void)link_send(l, &l->soon[i]);
}

static void on_prepare(uv_prepare_t *prepare)
{
	send_soon(prepare->data);
}

int link_send_soon(struct link *l, const struct link_message *message)
{
	if (l->ended)
		return -EPIPE;
	l->soon[l->n_soon++] = *message;
	if (l->n_soon == LINK_BATCH)
		send_soon(l);
	else
		uv_prepare_start(&l->prepare, on_prepare);
	return 0;
}

int link_send_fd(struct link *l, const struct link_message *message, int fd)
{
	ssize_t r = l->ended || l->count > 0 ? -EAGAIN : fd_pass_send(l->fd, message, sizeof(*message), &fd, 1);

	return r < 0 ? (int)r : 0;
}

int link_send_signal(struct link *l, uint32_t type, int32_t value)
{
	struct link_message m = { .type = type, .value = value };

	return link_send(l, &m);
}

struct owners *link_owners(struct link *l)
{
	return l->owners;
}

static void on_closed(uv_handle_t *handle)
{
	free((char *)handle - offsetof(struct link, poll));
}

int link_open(uv_loop_t *loop, int fd, const struct link_handlers *handlers, void *data, struct link **ret)
{
	struct link *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = fd_set_nonblock(fd, true);
	if (r == 0)
		r = uv_poll_init(loop, &l->poll, fd);
	if (r < 0) {
		free(l);
		return r;
	}
	r = owners_new(loop, &l->owners);
	if (r < 0) {
		uv_close((uv_handle_t *)&l->poll, on_closed);
		return r;
	}
	uv_prepare_init(loop, &l->prepare);
	l->prepare.data = l;
	l->poll.data = l;
	l->fd = fd;
	l->handlers = handlers;
	l->data = data;
	watch(l);
	*ret = l;
	return 0;
}

void link_close(struct link *l)
{
	l->ended = true;
	l->count = 0;
	uv_close((uv_handle_t *)&l->poll, NULL);
	uv_close((uv_handle_t *)&l->prepare, NULL);
	owners_close(l->owners);
	l->fd = fd_close(l->fd);
}

void link_free(struct link *l)
{
	if (!l)
		return;
	owners_free(l->owners);
	free(l->queue);
	free(l);
}
