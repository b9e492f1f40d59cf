#include "daemon/control/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/adopt.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/late.h"
#include "daemon/control/method/layer_call.h"
#include "daemon/control/session.h"

/* A kill and a farewell for everything that can exist at once. */
#define QUEUE_MAX (2UL * (LIMIT_CONNECTIONS + LIMIT_SESSIONS))

/* Without isod nothing can be started, ended or vouched for. */
static void fail(struct monitor *m, int err)
{
	if (m->failed)
		return;
	m->failed = err;
	uv_poll_stop(&m->poll);
	uv_stop(m->control->loop);
}

static bool id_is_valid(const char *id)
{
	return strnlen(id, ISOD_ID_LEN + 1) == ISOD_ID_LEN && strspn(id, "0123456789abcdef") == ISOD_ID_LEN;
}

static int on_peer(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	int fd;

	if (n_fds != 1)
		return -EBADMSG;
	fd = take_fd(&fds[0]);
	/* By now the sessions of an earlier isod-control have been given to us. */
	audit_settle(&c->audit);
	return connection_new(c, m->connection, m->uid, m->gid, m->pid, fd);
}

static int on_session_started(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	struct session *s = registry_find_id(&c->registry, m->id);

	if (n_fds != 1 || !s)
		return -EBADMSG;
	return session_on_started(s, take_fd(&fds[0]));
}

static int on_session_failed(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	struct session *s = registry_find_id(&c->registry, m->id);
	struct error e = m->error;

	if (n_fds != 0 || !s)
		return -EBADMSG;
	error_sanitise(&e);
	session_on_failed(s, &e);
	return 0;
}

static int on_session_ended(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	struct session *s = registry_find_id(&c->registry, m->id);

	if (n_fds != 0 || !s)
		return -EBADMSG;
	session_on_ended(s, (enum exit_kind)m->kind, m->value);
	return 0;
}

static int on_hello(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	if (n_fds != 0)
		return -EBADMSG;
	c->hello = m->error;
	error_sanitise(&c->hello);
	c->landlock_abi = m->value;
	c->late_way = m->late_way;
	c->late_reason = m->late_reason;
	c->hello_seen = true;
	return 0;
}

/* What the kernel has refused in a session. The last ones may come when it is over. */
static int on_late(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	struct session *s = registry_find_id(&c->registry, m->id);
	struct late_event event = { .kind = m->kind, .group = m->flags, .pid = m->value };

	if (n_fds != 0 || m->flags >= PROTECT_GROUP_COUNT ||
	    (m->kind != 0 && m->kind != LATE_REFUSED && m->kind != LATE_PLANT_REFUSED))
		return -EBADMSG;
	if (!s)
		return 0;
	if (m->limits.pids > 0)
		audit_lost(s, m->limits.pids);
	if (m->kind == 0)
		return 0;
	event.path_len = (uint32_t)strnlen(m->error.message, sizeof(m->error.message));
	memcpy(event.path, m->error.message, event.path_len);
	memcpy(event.program, m->error.step, strnlen(m->error.step, sizeof(m->error.step)));
	late_on_event(s, &event);
	return 0;
}

static int on_port(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	struct session *s = registry_find_id(&c->registry, m->id);

	if (n_fds != 0 || !s || m->value < 1 || m->value > UINT16_MAX || m->kind < 1 || m->kind > UINT16_MAX)
		return -EBADMSG;
	return session_on_port(s, (uint16_t)m->value, (uint16_t)m->kind);
}

static const struct {
	uint32_t type;
	bool has_id;
	int (*handle)(struct control *c, const struct control_message *m, int *fds, size_t n_fds);
} handlers[] = {
	{ CONTROL_PEER, false, on_peer },
	{ CONTROL_SESSION_STARTED, true, on_session_started },
	{ CONTROL_SESSION_FAILED, true, on_session_failed },
	{ CONTROL_SESSION_ENDED, true, on_session_ended },
	{ CONTROL_HELLO, false, on_hello },
	{ CONTROL_LAYER, false, layer_call_answered },
	{ CONTROL_LATE, true, on_late },
	{ CONTROL_PORT, true, on_port },
	{ CONTROL_ADOPT, true, adopt_session },
};

static int dispatch(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		if (handlers[i].type == m->type)
			return handlers[i].has_id && !id_is_valid(m->id) ? -EBADMSG
									 : handlers[i].handle(c, m, fds, n_fds);
	return -EBADMSG;
}

static void read_messages(struct monitor *m)
{
	while (!m->failed) {
		int fds[FD_PASS_MAX];
		size_t n_fds = FD_PASS_MAX;
		struct control_message message = { 0 };
		ssize_t n = fd_pass_receive(m->fd, &message, sizeof(message), fds, &n_fds);
		int r;

		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			fail(m, n < 0 ? (int)n : -ENOTCONN);
			return;
		}
		r = n == sizeof(message) ? dispatch(m->control, &message, fds, n_fds) : -EBADMSG;
		for (size_t i = 0; i < n_fds; i++)
			fd_close(fds[i]);
		if (r == -EBADMSG) {
			log_error("isod sent a message that does not fit (type %u, %zd bytes)", message.type, n);
			fail(m, r);
		} else if (r < 0) {
			log_error("a message of isod (type %u) could not be served: %s", message.type, strerror(-r));
		}
	}
}

static void packet_free(struct monitor_packet *p)
{
	for (size_t i = 0; i < p->n_fds; i++)
		fd_close(p->fds[i]);
	free(p);
}

static void watch(struct monitor *m);

static void flush(struct monitor *m)
{
	struct monitor_packet *p;

	while ((p = STAILQ_FIRST(&m->queue))) {
		ssize_t n = fd_pass_send(m->fd, &p->message, sizeof(p->message), p->fds, p->n_fds);

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			fail(m, (int)n);
			return;
		}
		STAILQ_REMOVE_HEAD(&m->queue, link);
		m->n_queued--;
		packet_free(p);
	}
	watch(m);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct monitor *m = handle->data;

	if (status < 0) {
		fail(m, status);
		return;
	}
	if (events & UV_WRITABLE)
		flush(m);
	if (events & (UV_READABLE | UV_DISCONNECT))
		read_messages(m);
}

static void watch(struct monitor *m)
{
	if (!m->failed)
		uv_poll_start(&m->poll, UV_READABLE | (STAILQ_EMPTY(&m->queue) ? 0 : UV_WRITABLE), on_poll);
}

int monitor_open(struct monitor *m, struct control *control, int fd)
{
	int r;

	*m = (struct monitor){ .control = control, .fd = fd };
	STAILQ_INIT(&m->queue);
	r = fd_set_nonblock(fd, true);
	if (r == 0)
		r = uv_poll_init(control->loop, &m->poll, fd);
	if (r < 0)
		return r;
	m->poll.data = m;
	watch(m);
	return 0;
}

void monitor_close(struct monitor *m)
{
	if (!uv_is_closing((uv_handle_t *)&m->poll))
		uv_close((uv_handle_t *)&m->poll, NULL);
}

void monitor_done(struct monitor *m)
{
	struct monitor_packet *p;

	while ((p = STAILQ_FIRST(&m->queue))) {
		STAILQ_REMOVE_HEAD(&m->queue, link);
		packet_free(p);
	}
	m->fd = fd_close(m->fd);
}

static int enqueue(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	struct monitor_packet *p;

	if (m->n_queued == QUEUE_MAX)
		return -EOVERFLOW;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->message = *message;
	for (size_t i = 0; i < n_fds; i++) {
		p->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (p->fds[i] < 0) {
			int r = -errno;

			packet_free(p);
			return r;
		}
		p->n_fds++;
	}
	STAILQ_INSERT_TAIL(&m->queue, p, link);
	m->n_queued++;
	watch(m);
	return 0;
}

int monitor_send(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	ssize_t n = -EAGAIN;
	int r;

	if (m->failed)
		return m->failed;
	if (STAILQ_EMPTY(&m->queue))
		n = fd_pass_send(m->fd, message, sizeof(*message), fds, n_fds);
	if (n >= 0)
		return 0;
	r = n == -EAGAIN ? enqueue(m, message, fds, n_fds) : (int)n;
	/* A start that cannot be sent is refused; a lost kill would leave a session running that nobody watches. */
	if (r < 0 && n_fds == 0)
		fail(m, r);
	return r;
}

static int send_about(struct monitor *m, uint32_t type, const char *id)
{
	struct control_message message = { .type = type };

	memcpy(message.id, id, ISOD_ID_LEN);
	return monitor_send(m, &message, NULL, 0);
}

int monitor_send_kill(struct monitor *m, const char *id)
{
	return send_about(m, CONTROL_KILL, id);
}

int monitor_send_session_done(struct monitor *m, const char *id)
{
	return send_about(m, CONTROL_SESSION_DONE, id);
}

int monitor_send_peer_done(struct monitor *m, uint64_t connection)
{
	return monitor_send(m, &(struct control_message){ .type = CONTROL_PEER_DONE, .connection = connection }, NULL,
			    0);
}
