#include "daemon/control/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/log.h"
#include "daemon/control/connection_out.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/exec.h"
#include "daemon/control/keep.h"
#include "daemon/control/audit/log_reader.h"
#include "daemon/control/method/log_verify.h"
#include "daemon/control/method/method_wait.h"
#include "daemon/control/session.h"
#include "proto/varlink.h"

#define CHUNK (64U << 10)
/* Chunks in one turn of the loop: one client that sends without end must not starve the others. */
#define TURN_CHUNKS 16

static void on_closed(uv_handle_t *handle)
{
	struct connection *c = handle->data;

	if (--c->handles > 0 || c->state != CONNECTION_DEAD)
		return;
	log_reader_free(c->reader);
	buffer_done(&c->in);
	buffer_done(&c->out);
	fd_close(c->reply_fd);
	free(c);
}

static void close_fds(int *fds, size_t *n_fds)
{
	while (*n_fds > 0)
		fd_close(fds[--*n_fds]);
}

/* The poll handle must be closed before its descriptor. */
static void close_poll(struct connection *c)
{
	if (!uv_is_closing((uv_handle_t *)&c->poll))
		uv_close((uv_handle_t *)&c->poll, on_closed);
	c->fd = fd_close(c->fd);
}

void connection_drop(struct connection *c)
{
	struct session *s = c->session;

	if (c->state == CONNECTION_DEAD)
		return;
	c->state = CONNECTION_DEAD;
	c->session = NULL;
	LIST_REMOVE(c, entry);
	if (s)
		session_on_hang_up(s);
	if (c->exec)
		exec_on_hang_up(c->exec);
	log_reader_detach(c->reader);
	log_verify_detach(c->verify);
	wait_leave(c);
	close_fds(c->fds, &c->n_fds);
	close_poll(c);
	uv_close((uv_handle_t *)&c->timer, on_closed);
	monitor_send_peer_done(&c->control->monitor, c->number);
}

static void process(struct connection *c);
static void on_timer(uv_timer_t *timer);

void connection_read_on(struct connection *c)
{
	/* Not 0: libuv before 1.45 calls such a timer again before it polls, and all others wait. */
	uv_timer_start(&c->timer, on_timer, 1, 0);
}

static void on_timer(uv_timer_t *timer)
{
	struct connection *c = timer->data;

	if (c->reader) {
		log_reader_pump(c->reader);
		return;
	}
	if (!c->resume) {
		/* A message was begun and never ended, or a last reply was never read. */
		connection_drop(c);
		return;
	}
	c->resume = false;
	process(c);
}

static void on_poll(uv_poll_t *handle, int status, int events);

/* A client that does not read its replies can still send a little, so that it does not wait for us while we do for it.
 */
static bool wants_input(const struct connection *c)
{
	return c->state == CONNECTION_IDLE && (!connection_is_full(c) || c->in.len < CHUNK);
}

/* Sets what is waited for, after every change of state or of the queues. */
static void watch(struct connection *c)
{
	bool pending = c->out.len > c->out_at;
	int events = pending ? UV_WRITABLE : 0;

	if (wants_input(c))
		events |= UV_READABLE;
	if (c->state == CONNECTION_BUSY)
		events |= UV_DISCONNECT;
	if (events)
		uv_poll_start(&c->poll, events, on_poll);
	else
		uv_poll_stop(&c->poll);
}

static void lend_to_other(struct connection *c)
{
	struct session *s = registry_find_id(&c->control->registry, c->lend_to.id);

	/* Either way it is nothing of ours any more: a descriptor that was handed over stays open there. */
	if (s)
		(void)session_link_attach_as(&s->link, c->fd, c->lend_to.flags, c->lend_to.rows, c->lend_to.columns);
	connection_drop(c);
}

static void lend_now(struct connection *c)
{
	struct session *s = c->session;
	int r = s ? session_link_attach(&s->link, c->fd, s->rows, s->columns) : -ENOTCONN;

	if (r < 0) {
		connection_drop(c);
		return;
	}
	c->lend = false;
	c->state = CONNECTION_LENT;
	close_poll(c);
	keep_send(s);
}

static void after_write(struct connection *c)
{
	bool pending = c->out.len > c->out_at;

	if (c->reader && !connection_is_full(c))
		log_reader_pump(c->reader);
	if (c->state == CONNECTION_DEAD || c->state == CONNECTION_LENT)
		return;
	if (!pending && c->lend && c->lend_to.id[0])
		lend_to_other(c);
	else if (!pending && c->lend)
		lend_now(c);
	else if (!pending && c->state == CONNECTION_CLOSING)
		connection_drop(c);
	else
		watch(c);
}

void connection_flush(struct connection *c)
{
	if (connection_write(c) < 0)
		connection_drop(c);
	else
		after_write(c);
}

void connection_close_after_reply(struct connection *c)
{
	if (c->state == CONNECTION_DEAD)
		return;
	c->state = CONNECTION_CLOSING;
	c->resume = false;
	uv_timer_start(&c->timer, on_timer, LIMIT_MESSAGE_SECONDS * 1000ULL, 0);
	connection_flush(c);
}

void connection_set_busy(struct connection *c)
{
	c->state = CONNECTION_BUSY;
	uv_timer_stop(&c->timer);
	watch(c);
}

void connection_call_done(struct connection *c)
{
	if (c->state != CONNECTION_BUSY)
		return;
	c->state = CONNECTION_IDLE;
	c->session = NULL;
	/* Not from within whoever answered: the next call may touch the same session. */
	c->resume = true;
	uv_timer_start(&c->timer, on_timer, 1, 0);
	watch(c);
}

void connection_lend(struct connection *c)
{
	c->lend = true;
	connection_flush(c);
}

void connection_lend_to(struct connection *c, const struct session *s, unsigned flags, uint16_t rows, uint16_t columns)
{
	if (c->state == CONNECTION_DEAD)
		return;
	memcpy(c->lend_to.id, s->id, sizeof(c->lend_to.id));
	c->lend_to.flags = flags;
	c->lend_to.rows = rows;
	c->lend_to.columns = columns;
	connection_lend(c);
}

/* One whole message at the front of the input. */
static void serve_message(struct connection *c, size_t len)
{
	int fds[LIMIT_MESSAGE_FDS];
	size_t n_fds = 0;

	if (c->n_fds > 0 && c->fds_at < len) {
		memcpy(fds, c->fds, sizeof(fds));
		n_fds = c->n_fds;
		c->n_fds = 0;
	}
	dispatch_message(c, c->in.data, len - 1, fds, n_fds, c->in.len > len);
	close_fds(fds, &n_fds);
	buffer_consume(&c->in, len);
	c->fds_at -= c->n_fds > 0 ? len : 0;
	c->seen = 0;
	if (c->in.len == 0)
		buffer_done(&c->in);
}

static void process(struct connection *c)
{
	while (c->state == CONNECTION_IDLE && !connection_is_full(c)) {
		long n = varlink_frame(c->in.data, c->in.len, &c->seen);

		if (n == 0)
			break;
		if (n < 0) {
			struct error e = ERROR_INIT;

			error_set(&e, ERROR_LIMIT, EMSGSIZE, "message", NULL, "A message may have at most %u bytes.",
				  LIMIT_MESSAGE);
			connection_reply_error(c, &e);
			connection_close_after_reply(c);
			return;
		}
		serve_message(c, (size_t)n);
	}
	if (c->state != CONNECTION_IDLE)
		return;
	if (c->in.len == 0 || connection_is_full(c))
		uv_timer_stop(&c->timer);
	else if (!uv_is_active((uv_handle_t *)&c->timer))
		uv_timer_start(&c->timer, on_timer, LIMIT_MESSAGE_SECONDS * 1000ULL, 0);
	watch(c);
}

/*
 * The kernel ends a read after the bytes that descriptors came with, so these belong to the last message that began in
 * what was read.
 */
static int take_fds(struct connection *c, size_t chunk, int *fds, size_t *n_fds)
{
	size_t from = c->in.len - chunk, begin;
	const char *nul;
	bool begins;

	if (*n_fds == 0)
		return 0;
	if (c->n_fds + *n_fds > LIMIT_MESSAGE_FDS)
		return -E2BIG;
	nul = chunk > 1 ? memrchr(c->in.data + from, '\0', chunk - 1) : NULL;
	begin = nul ? (size_t)(nul + 1 - c->in.data) : from;
	begins = nul || from == 0 || c->in.data[from - 1] == '\0';
	/* Those of an earlier message still wait for it to be served. */
	if (c->n_fds > 0 && begins)
		return -E2BIG;
	if (c->n_fds == 0)
		c->fds_at = begin;
	memcpy(c->fds + c->n_fds, fds, *n_fds * sizeof(*fds));
	c->n_fds += *n_fds;
	*n_fds = 0;
	return 0;
}

static void refuse_fds(struct connection *c)
{
	struct error e = ERROR_INIT;

	error_set(&e, ERROR_INVALID, E2BIG, "descriptors", NULL, "A message may bring at most %d descriptors.",
		  LIMIT_MESSAGE_FDS);
	connection_reply_error(c, &e);
	connection_close_after_reply(c);
}

/* Hundreds of connections with a message of full size begun on each would take gigabytes. */
static bool has_room_to_grow(const struct connection *c)
{
	const struct connection *other;
	size_t held = CHUNK;

	if (c->in.len + CHUNK <= c->in.size || c->in.len < CHUNK)
		return true;
	LIST_FOREACH (other, &c->control->connections, entry)
		if (other->uid == c->uid)
			held += other->in.size;
	return held <= LIMIT_INPUT_PER_UID;
}

static void refuse_input(struct connection *c)
{
	struct error e = ERROR_INIT;

	error_set(&e, ERROR_LIMIT, EAGAIN, "message", "Send fewer large messages at once.",
		  "Your unfinished messages hold more than %u bytes.", LIMIT_INPUT_PER_UID);
	connection_reply_error(c, &e);
	connection_close_after_reply(c);
}

/* 1: read something; 0: nothing there now, or the connection is at its end. */
static int read_chunk(struct connection *c)
{
	int fds[FD_PASS_MAX], r;
	size_t n_fds = FD_PASS_MAX;
	ssize_t n;

	if (!has_room_to_grow(c)) {
		refuse_input(c);
		return 0;
	}
	r = buffer_reserve(&c->in, CHUNK);
	if (r < 0) {
		connection_drop(c);
		return 0;
	}
	n = fd_pass_receive(c->fd, c->in.data + c->in.len, CHUNK, fds, &n_fds);
	if (n == -EAGAIN)
		return 0;
	if (n == -EMSGSIZE) {
		refuse_fds(c);
		return 0;
	}
	if (n <= 0) {
		/* A client that only ended its own sending still gets its replies. */
		if (n == 0 && c->out.len > c->out_at)
			connection_close_after_reply(c);
		else
			connection_drop(c);
		return 0;
	}
	c->in.len += (size_t)n;
	r = take_fds(c, (size_t)n, fds, &n_fds);
	close_fds(fds, &n_fds);
	if (r < 0) {
		refuse_fds(c);
		return 0;
	}
	return 1;
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct connection *c = handle->data;

	if (status < 0 || (c->state == CONNECTION_BUSY && (events & UV_DISCONNECT))) {
		connection_drop(c);
		return;
	}
	if (events & UV_WRITABLE)
		connection_flush(c);
	for (int i = 0; (events & UV_READABLE) && i < TURN_CHUNKS; i++) {
		if (!wants_input(c) || read_chunk(c) == 0)
			break;
		process(c);
	}
	/* What was held back while the client did not read. */
	if (c->state == CONNECTION_IDLE && c->in.len > 0 && (events & UV_WRITABLE))
		process(c);
}

int connection_new(struct control *control, uint64_t number, uint32_t uid, uint32_t gid, int32_t pid, int fd)
{
	struct connection *c = calloc(1, sizeof(*c));
	int r = c ? fd_set_nonblock(fd, true) : -ENOMEM;

	if (r == 0)
		r = uv_poll_init(control->loop, &c->poll, fd);
	if (r < 0) {
		free(c);
		fd_close(fd);
		monitor_send_peer_done(&control->monitor, number);
		return r;
	}
	uv_timer_init(control->loop, &c->timer);
	c->control = control;
	c->number = number;
	c->uid = uid;
	c->gid = gid;
	c->pid = pid;
	c->fd = fd;
	c->reply_fd = -1;
	c->in.max = LIMIT_MESSAGE + 2 * CHUNK;
	connection_out_init(c);
	c->handles = 2;
	c->poll.data = c->timer.data = c;
	LIST_INSERT_HEAD(&control->connections, c, entry);
	watch(c);
	return 0;
}
