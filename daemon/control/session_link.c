#include "daemon/control/session_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/log.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/audit/audit_gpg.h"
#include "daemon/control/audit/audit_ssh.h"
#include "daemon/control/session.h"
#include "daemon/control/session_last.h"
#include "daemon/control/usage.h"
#include "daemon/wire/session_wire.h"

/* Messages in one turn of the loop: a session that floods its channel must not starve the others. */
#define TURN_MAX 256

union message {
	uint32_t type;
	struct session_status status;
	struct session_connection connection;
	struct late_event late;
	struct session_agent agent;
	struct session_usage usage;
	struct session_budget budget;
	struct session_last last;
	struct session_question question;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

void session_link_close(struct session_link *l)
{
	if (l->poll)
		uv_close((uv_handle_t *)l->poll, on_closed);
	l->poll = NULL;
	l->fd = fd_close(l->fd);
}

/* The helper is gone or talks nonsense. Without it nobody relays or watches: the session must end. */
static void broken(struct session_link *l, const char *why)
{
	struct session *s = l->session;

	session_link_close(l);
	if (s->state == SESSION_ENDED)
		return;
	log_warning("session %s: %s; it is ended", s->id, why);
	session_kill(s, CAUSE_FAULT);
}

static bool text_is_terminated(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

static bool connection_fits(const struct session *s, const struct session_connection *m)
{
	if (m->via < VIA_CONNECT || m->via >= VIA_COUNT || m->allowed > 1 || m->by_proxy > 1 ||
	    m->reason >= EGRESS_REASON_COUNT)
		return false;
	if (m->generation > s->reload.generation)
		return false;
	if (m->generation == s->reload.generation && m->rule != UINT32_MAX && m->rule >= s->policy.egress.n_rules)
		return false;
	if (m->family != 0 && m->family != AF_INET && m->family != AF_INET6)
		return false;
	return text_is_terminated(m->name, sizeof(m->name)) && text_is_terminated(m->program, sizeof(m->program));
}

/* A rule that was replaced while the message was on its way has no name any more. */
static void tell_connection(struct session *s, const struct session_connection *m)
{
	struct session_connection told = *m;

	if (m->generation != s->reload.generation)
		told.rule = UINT32_MAX;
	audit_connection(s, &told);
}

static bool exit_fits(const struct session *s, const struct session_status *m)
{
	return (m->kind == EXIT_KIND_CODE && m->value >= 0 && m->value <= 255) ||
	       (m->kind == EXIT_KIND_SIGNAL && m->value > 0 && m->value <= 64) || m->kind == EXIT_KIND_LOST ||
	       (m->kind == EXIT_KIND_TIME && (s->cause == CAUSE_TIME || s->adopted));
}

static int take_clients(struct session *s, const struct session_status *m)
{
	if (m->value < 0 || m->value > LIMIT_ATTACHED || m->kind > 1)
		return -EBADMSG;
	s->has_clients = true;
	s->n_clients = (unsigned)m->value;
	s->driven = m->kind;
	return 0;
}

/* 0, or -EBADMSG. May end the session's link, not the session. */
static int handle(struct session *s, const union message *m, size_t n)
{
	switch (m->type) {
	case SESSION_CONNECTION:
	case SESSION_DNS_DENIED:
	case SESSION_PACKET:
		if (n != sizeof(m->connection) || !connection_fits(s, &m->connection))
			return -EBADMSG;
		tell_connection(s, &m->connection);
		return 0;
	case SESSION_LATE:
		if (!late_event_is_valid(&m->late, n))
			return -EBADMSG;
		late_on_event(s, &m->late);
		return 0;
	case SESSION_SSH:
		if (!audit_ssh_is_valid(&m->agent, n))
			return -EBADMSG;
		audit_agent(s, &m->agent);
		return 0;
	case SESSION_GPG:
		if (!audit_gpg_is_valid(&m->agent, n))
			return -EBADMSG;
		audit_agent(s, &m->agent);
		return 0;
	case SESSION_USAGE:
		return usage_is_valid(s, &m->usage, n) ? usage_keep(s, &m->usage) : -EBADMSG;
	case SESSION_BUDGET:
		if (!usage_budget_is_valid(s, &m->budget, n))
			return -EBADMSG;
		/* An account of rules that were replaced meanwhile has no name any more. */
		if (m->budget.generation == s->reload.generation)
			audit_budget(s, &m->budget);
		return 0;
	case SESSION_LAST:
		return session_last_add(s, &m->last, n);
	case SESSION_ASKED:
		return questions_on_asked(s, &m->question, n);
	case SESSION_CLIENTS:
	case SESSION_LOST:
	case SESSION_EXITED:
	case SESSION_STOPPED:
	case SESSION_CONTINUED:
	case SESSION_STARTED:
	case SESSION_RULES_DONE:
	case SESSION_ONCE:
	case SESSION_RECORD:
	case SESSION_ASK_OVER:
		break;
	default:
		return -EBADMSG;
	}
	if (n != sizeof(m->status))
		return -EBADMSG;
	if (m->type == SESSION_RULES_DONE)
		return reload_answered(s, (uint32_t)m->status.value, m->status.kind);
	if (m->type == SESSION_ONCE)
		return grants_on_once(s, m->status.kind, (uint32_t)m->status.value);
	if (m->type == SESSION_RECORD)
		return audit_record(s, m->status.kind, m->status.value);
	if (m->type == SESSION_CLIENTS)
		return take_clients(s, &m->status);
	if (m->type == SESSION_ASK_OVER)
		return questions_on_over(s, m->status.kind, (uint32_t)m->status.value);
	if (m->type == SESSION_LOST) {
		audit_lost(s, (uint32_t)m->status.value);
	} else if (m->type == SESSION_EXITED) {
		if (!exit_fits(s, &m->status))
			return -EBADMSG;
		session_on_exited(s, (enum exit_kind)m->status.kind, m->status.value);
	}
	return 0;
}

/* Without taking it out of the socket. Returns its length, 0 at the end of file, or -errno. */
static ssize_t look_at_next(const struct session_link *l, union message *ret)
{
	ssize_t n = recv(l->fd, ret, sizeof(*ret), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

/* Descriptors that came with it are dropped by the kernel: there is no room for them. */
static void take_out(const struct session_link *l)
{
	char byte;

	/* An error that waits comes before what is queued. */
	while (recv(l->fd, &byte, sizeof(byte), MSG_DONTWAIT) < 0 && (errno == EINTR || errno == ECONNRESET))
		;
}

/* A message is taken out once it was acted upon and written down: where this process dies before, the next isod-control
 * finds it in the socket, which isod holds. */
static void read_messages(struct session_link *l, unsigned max)
{
	while (l->fd >= 0 && max-- > 0) {
		union message m = { 0 };
		ssize_t n = look_at_next(l, &m);

		if (n == -EAGAIN)
			return;
		/* It closed with an order of ours unread; what it sent before, the exit status among it, still waits.
		 */
		if (n == -ECONNRESET || n == -EINTR)
			continue;
		if (n <= 0) {
			broken(l, n == 0 ? "its helper has ended" : "its helper cannot be heard");
			continue;
		}
		if (n < (ssize_t)sizeof(m.type) || n > (ssize_t)sizeof(m) || handle(l->session, &m, (size_t)n) < 0)
			broken(l, "its helper sent a message that does not fit");
		else if (l->fd >= 0)
			take_out(l);
	}
}

void session_link_drain(struct session_link *l)
{
	/* The socket holds a few hundred packets at most, and the other end is dead. */
	read_messages(l, 65536);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct session_link *l = handle->data;

	read_messages(l, TURN_MAX);
	/* An error waited on the socket, and libuv has stopped watching; reading has cleared it. */
	if (status < 0 && l->poll)
		uv_poll_start(l->poll, UV_READABLE | UV_DISCONNECT, on_poll);
}

int session_link_open(struct session_link *l, struct session *s, int fd)
{
	uv_poll_t *poll = calloc(1, sizeof(*poll));
	int r = poll ? fd_set_nonblock(fd, true) : -ENOMEM;

	if (r == 0)
		r = uv_poll_init(s->timer.loop, poll, fd);
	if (r < 0) {
		free(poll);
		fd_close(fd);
		return r;
	}
	l->session = s;
	l->fd = fd;
	l->poll = poll;
	poll->data = l;
	return uv_poll_start(poll, UV_READABLE | UV_DISCONNECT, on_poll);
}

static int send_descriptor(struct session_link *l, const struct session_status *m, int fd)
{
	ssize_t n;

	if (l->fd < 0)
		return -ENOTCONN;
	n = fd_pass_send(l->fd, m, sizeof(*m), &fd, 1);
	return n < 0 ? (int)n : 0;
}

int session_link_attach_as(struct session_link *l, int client_fd, unsigned flags, uint16_t rows, uint16_t columns)
{
	const struct session_status m = { .type = SESSION_ATTACH,
					  .kind = flags,
					  .value = (int32_t)((uint32_t)rows << 16 | columns) };

	return send_descriptor(l, &m, client_fd);
}

int session_link_attach(struct session_link *l, int client_fd, uint16_t rows, uint16_t columns)
{
	return session_link_attach_as(l, client_fd, 0, rows, columns);
}

int session_link_outputs(struct session_link *l, const int fds[2])
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < 2; i++) {
		const struct session_status m = { .type = SESSION_OUTPUT, .kind = i + 1 };

		r = send_descriptor(l, &m, fds[i]);
	}
	return r;
}

int session_link_rules(struct session_link *l, int fd, uint32_t generation)
{
	const struct session_status m = { .type = SESSION_RULES, .value = (int32_t)generation };

	return send_descriptor(l, &m, fd);
}

/* No wait: a helper that does not read its few orders is about to be killed anyway. */
static int send_status(struct session_link *l, uint32_t type, uint32_t kind, int32_t value)
{
	struct session_status m = { .type = type, .kind = kind, .value = value };
	ssize_t n;

	if (l->fd < 0)
		return -ENOTCONN;
	n = fd_pass_send(l->fd, &m, sizeof(m), NULL, 0);
	return n < 0 ? (int)n : 0;
}

int session_link_signal(struct session_link *l, int signal)
{
	return send_status(l, SESSION_SIGNAL, 0, signal);
}

int session_link_answer(struct session_link *l, uint32_t number, uint32_t answer)
{
	return send_status(l, SESSION_ANSWER, answer, (int32_t)number);
}

void session_link_ending(struct session_link *l, enum exit_kind kind, int32_t value)
{
	send_status(l, SESSION_ENDING, kind, value);
}
