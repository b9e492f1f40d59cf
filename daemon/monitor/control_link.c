#include "daemon/monitor/control_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/log.h"
#include "daemon/monitor/monitor.h"
#include "daemon/monitor/keep.h"
#include "daemon/monitor/layer_call.h"
#include "daemon/monitor/session_exec.h"
#include "daemon/monitor/session_start.h"
#include "daemon/monitor/child_spawn.h"
#include "daemon/wire/fds.h"

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS 5000
/* A control that lived so long was well: the next restart is at once again. */
#define WELL_MS 10000
/* What it may take to write its last lines when isod ends. */
#define CLOSE_PATIENCE_MS 2000
/* One turn of the loop takes no more messages than this. */
#define RECEIVE_BATCH 64
/* Of these batches so many are read from one that has ended: more than its socket holds. */
#define LAST_WORDS 16

static int on_peer_done(struct monitor *m, const struct control_message *message, const int *fds, size_t n)
{
	return peers_remove(&m->peers, message->connection) < 0 ? -EPROTO : 0;
}

/* A session may have ended while the message was on its way: not knowing it is no offence. */
static int on_kill(struct monitor *m, const struct control_message *message, const int *fds, size_t n)
{
	struct session *s = sessions_find(&m->sessions, message->id);

	if (s)
		session_end(s, NULL);
	return 0;
}

/* What isod-control may say, with how many descriptors. Anything else ends it. */
static const struct {
	enum control_type type;
	size_t min_fds, max_fds;
	bool has_id;
	int (*handle)(struct monitor *, const struct control_message *, const int *fds, size_t n_fds);
} table[] = {
	{ CONTROL_PEER_DONE, 0, 0, false, on_peer_done },
	{ CONTROL_START, 2, 10, true, session_start },
	{ CONTROL_KILL, 0, 0, true, on_kill },
	{ CONTROL_EXEC, 2, 5, true, session_exec },
	{ CONTROL_LAYER_LIST, 0, 0, false, layer_call_list },
	{ CONTROL_LAYER_OPEN, 0, 0, true, layer_call_open },
	{ CONTROL_LAYER_DISCARD, 0, 0, true, layer_call_discard },
	{ CONTROL_KEEP, 1, 2, true, keep_take },
	{ CONTROL_SESSION_DONE, 0, 0, true, keep_done },
};

static bool id_is_valid(const struct control_message *message)
{
	return strspn(message->id, "0123456789abcdef") == ISOD_ID_LEN && message->id[ISOD_ID_LEN] == '\0';
}

static int dispatch(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].type != message->type)
			continue;
		if (n_fds < table[i].min_fds || n_fds > table[i].max_fds || (table[i].has_id && !id_is_valid(message)))
			return -EPROTO;
		return table[i].handle(m, message, fds, n_fds);
	}
	return -EPROTO;
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct control_link *c)
{
	uv_poll_start(&c->poll, UV_READABLE | (c->n_queued ? UV_WRITABLE : 0), on_poll);
}

static void close_fds(const int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n_fds; i++)
		fd_close(fds[i]);
}

static void drop_queue(struct control_link *c)
{
	struct control_packet *p;

	while ((p = STAILQ_FIRST(&c->queue))) {
		STAILQ_REMOVE_HEAD(&c->queue, link);
		close_fds(p->fds, p->n_fds);
		free(p);
	}
	c->n_queued = 0;
}

/*
 * It died: what it has kept of its sessions is given to the next one. Fail closed where it broke the rules instead, for
 * then nothing that it has kept is to be believed.
 */
static void fall(struct control_link *c, const char *why, bool may_keep)
{
	if (c->state != CONTROL_UP)
		return;
	log_error("isod-control: %s; %s", why,
		  may_keep ? "those of its sessions that run live on" : "its sessions end");
	c->state = CONTROL_FALLING;
	uv_poll_stop(&c->poll);
	uv_close((uv_handle_t *)&c->poll, NULL);
	c->fd = fd_close(c->fd);
	drop_queue(c);
	child_kill(&c->process);
	peers_clear(&c->monitor->peers);
	keep_after_fall(c->monitor, may_keep);
	monitor_update_listener(c->monitor);
}

static void receive(struct control_link *c)
{
	for (unsigned i = 0; i < RECEIVE_BATCH && c->state == CONTROL_UP; i++) {
		/* One byte more than a message: a longer packet is then seen as such. */
		struct {
			struct control_message message;
			char more;
		} packet;
		int fds[FD_PASS_MAX];
		size_t n_fds = FD_PASS_MAX;
		ssize_t n = fd_pass_receive(c->fd, &packet, sizeof(packet), fds, &n_fds);
		int r = -EPROTO;

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0 && n != -EMSGSIZE) {
			fall(c, "closed its channel", true);
			return;
		}
		if (n == sizeof(packet.message))
			r = dispatch(c->monitor, &packet.message, fds, n_fds);
		for (size_t f = 0; n > 0 && f < n_fds; f++)
			fd_close(fds[f]);
		if (r < 0)
			fall(c, "sent what it must not send", false);
	}
}

static int send_one(struct control_link *c, const struct control_message *message, const int *fds, size_t n_fds)
{
	ssize_t n = fd_pass_send(c->fd, message, sizeof(*message), fds, n_fds);

	return n < 0 ? (int)n : 0;
}

static void flush(struct control_link *c)
{
	struct control_packet *p;
	int r = 0;

	while (r == 0 && (p = STAILQ_FIRST(&c->queue))) {
		r = send_one(c, &p->message, p->fds, p->n_fds);
		if (r < 0)
			break;
		STAILQ_REMOVE_HEAD(&c->queue, link);
		c->n_queued--;
		close_fds(p->fds, p->n_fds);
		free(p);
	}
	if (r < 0 && r != -EAGAIN && r != -EINTR)
		fall(c, "cannot be written to", true);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct control_link *c = poll->data;

	if (status < 0)
		fall(c, "has no channel any more", true);
	if (c->state == CONTROL_UP && events & UV_WRITABLE)
		flush(c);
	if (c->state == CONTROL_UP && events & UV_READABLE)
		receive(c);
	if (c->state == CONTROL_UP)
		watch(c);
	monitor_update_listener(c->monitor);
}

void control_link_send(struct control_link *c, const struct control_message *message, int fd)
{
	control_link_send_fds(c, message, &fd, fd >= 0);
}

void control_link_send_fds(struct control_link *c, const struct control_message *message, const int *fds, size_t n_fds)
{
	struct control_packet *p;
	int r = c->state != CONTROL_UP ? -ENOTCONN : (c->n_queued ? -EAGAIN : send_one(c, message, fds, n_fds));

	if (r != -EAGAIN && r != -EINTR) {
		close_fds(fds, n_fds);
		if (r < 0 && r != -ENOTCONN)
			fall(c, "cannot be written to", true);
		return;
	}
	p = malloc(sizeof(*p));
	if (!p) {
		close_fds(fds, n_fds);
		fall(c, "cannot be told something for want of memory", true);
		return;
	}
	p->message = *message;
	memcpy(p->fds, fds, n_fds * sizeof(*fds));
	p->n_fds = n_fds;
	STAILQ_INSERT_TAIL(&c->queue, p, link);
	c->n_queued++;
	watch(c);
	monitor_update_listener(c->monitor);
}

static void on_restart(uv_timer_t *timer)
{
	struct control_link *c = timer->data;
	int r = c->monitor->stopping ? 0 : control_link_start(c);

	if (r == 0)
		return;
	log_error("isod-control cannot be started again: %s", strerror(-r));
	c->backoff_ms = BACKOFF_MAX_MS;
	uv_timer_start(&c->restart, on_restart, c->backoff_ms, 0);
}

bool control_link_was_well(const struct control_link *c)
{
	return uv_now(&c->monitor->loop) - c->started_ms > WELL_MS;
}

static void on_exit_of_control(struct child *child)
{
	struct control_link *c = child->owner;
	char text[64];

	if (c->closing) {
		c->state = CONTROL_DOWN;
		uv_close((uv_handle_t *)&c->restart, NULL);
		return;
	}
	log_warning("isod-control ended: %s", child_describe(child, text, sizeof(text)));
	/* Its last words may say which sessions are to live on. */
	for (unsigned i = 0; i < LAST_WORDS && c->state == CONTROL_UP; i++)
		receive(c);
	fall(c, "ended", true);
	c->state = CONTROL_DOWN;
	if (c->monitor->stopping)
		return;
	if (control_link_was_well(c))
		c->backoff_ms = 0;
	c->backoff_ms = c->backoff_ms ? c->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (c->backoff_ms > BACKOFF_MAX_MS)
		c->backoff_ms = BACKOFF_MAX_MS;
	uv_timer_start(&c->restart, on_restart, c->backoff_ms, 0);
}

static void say_hello(struct control_link *c)
{
	struct control_message hello = { .type = CONTROL_HELLO, .value = c->monitor->probe.landlock_abi };

	hello.late_way = c->monitor->probe.late_way;
	hello.late_reason = c->monitor->probe.late_reason;
	hello.error = c->monitor->probe.unavailable;
	control_link_send(c, &hello, -1);
}

static pid_t spawn_control(const struct monitor *m, int channel)
{
	const struct helper_fd fds[] = {
		{ m->files.null, 0 },
		{ m->files.null, 1 },
		{ 2, 2 },
		{ channel, CONTROL_FD_MONITOR },
		{ m->place.audit, CONTROL_FD_AUDIT },
		{ m->place.config, CONTROL_FD_CONFIG },
	};
	char uid[16], gid[16];
	const char *argv[] = { "isod-control", "--uid", uid, "--gid", gid, NULL };

	snprintf(uid, sizeof(uid), "%u", m->control_user.uid);
	snprintf(gid, sizeof(gid), "%u", m->control_user.gid);
	return helper_spawn(m->options.libexec, argv, fds, ARRAY_SIZE(fds));
}

int control_link_start(struct control_link *c)
{
	struct monitor *m = c->monitor;
	_cleanup_close_ int ours = -1, theirs = -1;
	int pair[2];
	pid_t pid;
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	pid = spawn_control(m, theirs);
	if (pid < 0)
		return pid;
	r = child_watch(&c->process, &m->loop, pid, on_exit_of_control, c);
	if (r < 0)
		return r;
	r = uv_poll_init(&m->loop, &c->poll, ours);
	if (r < 0) {
		/* on_exit_of_control() then tries again. */
		child_kill(&c->process);
		return 0;
	}
	c->poll.data = c;
	c->fd = take_fd(&ours);
	c->state = CONTROL_UP;
	c->started_ms = uv_now(&m->loop);
	c->generation++;
	watch(c);
	say_hello(c);
	keep_adopt(m);
	monitor_update_listener(m);
	return 0;
}

int control_link_open(struct control_link *c, struct monitor *m)
{
	*c = (struct control_link){ .monitor = m, .fd = -1, .state = CONTROL_DOWN };
	STAILQ_INIT(&c->queue);
	c->restart.data = c;
	return uv_timer_init(&m->loop, &c->restart);
}

static void on_patience_over(uv_timer_t *timer)
{
	struct control_link *c = timer->data;

	child_kill(&c->process);
}

void control_link_close(struct control_link *c)
{
	c->closing = true;
	if (c->state == CONTROL_UP) {
		c->state = CONTROL_FALLING;
		uv_close((uv_handle_t *)&c->poll, NULL);
		c->fd = fd_close(c->fd);
		drop_queue(c);
	}
	if (!c->process.alive) {
		uv_close((uv_handle_t *)&c->restart, NULL);
		return;
	}
	child_signal(&c->process, SIGTERM);
	uv_timer_start(&c->restart, on_patience_over, CLOSE_PATIENCE_MS, 0);
}
