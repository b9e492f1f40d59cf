#include "daemon/session/agent/gpg_agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/session/agent/gpg_client.h"
#include "gpgagent/gpg_answer.h"

/* A HAVEKEY is as long as a line, what asks for a signature is shorter. */
#define COMMANDS_MAX 2048

static void on_upstream(uv_poll_t *poll, int status, int events);
static void on_listener(uv_poll_t *poll, int status, int events);

/* ---- the user's agent ---- */

static void watch_upstream(struct gpg_agent *a)
{
	if (a->agent_fd >= 0)
		uv_poll_start(&a->upstream, UV_READABLE | (a->out_at < a->out.len ? UV_WRITABLE : 0), on_upstream);
}

static void watch_listener(struct gpg_agent *a)
{
	bool serves = a->state == GPG_AGENT_READY || a->agent_fd < 0;

	if (a->closing)
		return;
	if (serves && a->n_clients < LIMIT_GPG_CONNECTIONS)
		uv_poll_start(&a->listener, UV_READABLE, on_listener);
	else
		uv_poll_stop(&a->listener);
}

static void settle(struct gpg_agent *a)
{
	if (!a->closing || a->handles > 0 || a->n_clients > 0)
		return;
	buffer_done(&a->commands);
	buffer_done(&a->out);
	buffer_done(&a->in);
	buffer_done(&a->data);
	free(a);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct gpg_agent *a = handle->data;

	a->handles--;
	settle(a);
}

static void answer(struct gpg_agent *a, enum gpg_reason reason, unsigned error)
{
	struct gpg_client *c = a->asking;

	a->busy = false;
	a->asking = NULL;
	if (c)
		gpg_client_answered(c, reason, error, &a->data);
	a->data.len = 0;
}

/* Whoever waits is told that there is no answer; who asks later is told at once. */
static void lose_upstream(struct gpg_agent *a, enum gpg_reason reason)
{
	struct gpg_client *c;

	if (a->agent_fd < 0)
		return;
	uv_close((uv_handle_t *)&a->upstream, on_handle_closed);
	a->agent_fd = fd_close(a->agent_fd);
	a->lost = reason;
	if (a->closing)
		return;
	log_warning(reason == GPG_NOT_RESTRICTED ? "what was lent is not the restricted socket of a gpg-agent"
						 : "the user's gpg-agent is gone");
	answer(a, reason, gpg_reason_error(reason));
	while ((c = TAILQ_FIRST(&a->waiting))) {
		TAILQ_REMOVE(&a->waiting, c, waiting);
		c->queued = false;
		gpg_client_answered(c, reason, gpg_reason_error(reason), &a->data);
	}
	watch_listener(a);
}

/* One command at a time: what follows an error must not be carried out. */
static int send_next(struct gpg_agent *a)
{
	const char *command = a->commands.data + a->commands_at;
	size_t len = (size_t)((const char *)memchr(command, '\n', a->commands.len - a->commands_at) - command) + 1;

	a->commands_at += len;
	a->out.len = a->out_at = 0;
	a->data.len = 0;
	a->busy = true;
	return buffer_append(&a->out, command, len);
}

static int begin(struct gpg_agent *a, const char *commands, size_t len)
{
	a->commands.len = a->commands_at = 0;
	return buffer_append(&a->commands, commands, len) < 0 ? -ENOMEM : send_next(a);
}

static int begin_next(struct gpg_agent *a)
{
	struct gpg_client *c = TAILQ_FIRST(&a->waiting);

	if (a->busy || !c || a->agent_fd < 0 || a->state != GPG_AGENT_READY)
		return 0;
	TAILQ_REMOVE(&a->waiting, c, waiting);
	c->queued = false;
	a->asking = c;
	return begin(a, c->commands.data, c->commands.len);
}

static void keep_version(struct gpg_agent *a)
{
	size_t n = 0;

	/* "D 2.2.40\n" */
	for (size_t i = 2; i < a->data.len && n < sizeof(a->version) - 1; i++) {
		char c = a->data.data[i];

		if (c <= ' ' || c > '~' || c == '%')
			break;
		a->version[n++] = c;
	}
	a->version[n] = '\0';
}

/* The answer to the command under way is complete. */
static int on_done(struct gpg_agent *a, unsigned error)
{
	static const char restricted[] = "GETINFO restricted\n", version[] = "GETINFO version\n";

	a->busy = false;
	switch (a->state) {
	case GPG_AGENT_GREETING:
		a->state = GPG_AGENT_RESTRICTED;
		return error ? -ECONNREFUSED : begin(a, restricted, sizeof(restricted) - 1);
	case GPG_AGENT_RESTRICTED:
		a->state = GPG_AGENT_VERSION;
		return error ? -EPERM : begin(a, version, sizeof(version) - 1);
	case GPG_AGENT_VERSION:
		keep_version(a);
		a->state = GPG_AGENT_READY;
		watch_listener(a);
		return 0;
	case GPG_AGENT_READY:
		break;
	}
	if (!error && a->commands_at < a->commands.len)
		return send_next(a);
	answer(a, error ? GPG_AGENT_FAILED : GPG_ALLOWED, error);
	return 0;
}

static int take_line(struct gpg_agent *a, const char *line, size_t len)
{
	struct gpg_answer got;

	gpg_answer_parse(line, len, &got);
	if (!a->busy && got.kind != GPG_ANSWER_NOTHING)
		return -EBADMSG;
	switch (got.kind) {
	case GPG_ANSWER_NOTHING:
		return 0;
	case GPG_ANSWER_OK:
		return on_done(a, 0);
	case GPG_ANSWER_ERROR:
		return on_done(a, got.error);
	case GPG_ANSWER_DATA:
		return buffer_append(&a->data, line, len) < 0 ? -EMSGSIZE : buffer_append(&a->data, "\n", 1);
	case GPG_ANSWER_INQUIRE: /* answered by an error, which the program gets */
		return buffer_append(&a->out, "CAN\n", 4);
	case GPG_ANSWER_BAD:
		break;
	}
	return -EBADMSG;
}

static int take_lines(struct gpg_agent *a)
{
	for (;;) {
		ssize_t n = gpg_line_size(a->in.data, a->in.len);
		int r;

		if (n <= 0)
			return (int)n;
		r = take_line(a, a->in.data, (size_t)n - 1);
		if (r < 0)
			return r;
		buffer_consume(&a->in, (size_t)n);
	}
}

static int receive_lines(struct gpg_agent *a)
{
	int r = buffer_reserve(&a->in, a->in.max - a->in.len);
	ssize_t n;

	if (r < 0)
		return r;
	n = recv(a->agent_fd, a->in.data + a->in.len, a->in.max - a->in.len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	a->in.len += (size_t)n;
	return take_lines(a);
}

static int send_commands(struct gpg_agent *a)
{
	while (a->out_at < a->out.len) {
		ssize_t n =
			send(a->agent_fd, a->out.data + a->out_at, a->out.len - a->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		a->out_at += (size_t)n;
	}
	return 0;
}

static void on_upstream(uv_poll_t *poll, int status, int events)
{
	struct gpg_agent *a = poll->data;
	int r = status;

	if (r >= 0 && events & UV_READABLE)
		r = receive_lines(a);
	if (r >= 0)
		r = begin_next(a);
	if (r >= 0)
		r = send_commands(a);
	if (r < 0)
		lose_upstream(a, r == -EPERM ? GPG_NOT_RESTRICTED : GPG_AGENT_FAILED);
	watch_upstream(a);
}

bool gpg_agent_ask(struct gpg_agent *a, struct gpg_client *c)
{
	if (a->agent_fd < 0)
		return false;
	TAILQ_INSERT_TAIL(&a->waiting, c, waiting);
	c->queued = true;
	/* From the loop, when the socket takes bytes: never from within the client's own call. */
	uv_poll_start(&a->upstream, UV_READABLE | UV_WRITABLE, on_upstream);
	return true;
}

void gpg_agent_forget(struct gpg_agent *a, struct gpg_client *c)
{
	if (c->queued)
		TAILQ_REMOVE(&a->waiting, c, waiting);
	c->queued = false;
	if (a->asking == c)
		a->asking = NULL;
}

/* ---- programs ---- */

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct gpg_agent *a = poll->data;

	while (a->n_clients < LIMIT_GPG_CONNECTIONS) {
		int fd = accept4(a->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			break;
		if (gpg_client_new(a, fd) < 0)
			fd_close(fd);
	}
	watch_listener(a);
}

void gpg_agent_client_gone(struct gpg_agent *a)
{
	a->n_clients--;
	watch_listener(a);
	settle(a);
}

static int begin_poll(struct gpg_agent *a, uv_poll_t *poll, int fd)
{
	int r = uv_poll_init(a->loop, poll, fd);

	poll->data = a;
	if (r == 0)
		a->handles++;
	return r;
}

int gpg_agent_open(uv_loop_t *loop, const struct gpg_lent *lent, struct events *events, struct link *link, int listener,
		   struct gpg_agent **ret)
{
	struct gpg_agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->loop = loop;
	a->rules = &lent->rules;
	a->link = link;
	a->listener_fd = listener;
	a->agent_fd = lent->agent_fd;
	a->busy = true; /* with its greeting */
	a->commands.max = COMMANDS_MAX;
	a->out.max = COMMANDS_MAX;
	a->in.max = LIMIT_ASSUAN_LINE;
	a->data.max = LIMIT_GPG_ANSWER;
	TAILQ_INIT(&a->clients);
	TAILQ_INIT(&a->waiting);
	/* On failure the process ends soon. */
	r = agent_told_new(loop, events, &a->told);
	if (r == 0)
		r = begin_poll(a, &a->upstream, a->agent_fd);
	if (r == 0)
		r = begin_poll(a, &a->listener, listener);
	if (r < 0)
		return r;
	watch_upstream(a);
	*ret = a;
	return 0;
}

void gpg_agent_close(struct gpg_agent *a)
{
	struct gpg_client *c;

	a->closing = true;
	while ((c = TAILQ_FIRST(&a->clients)))
		gpg_client_close(c);
	lose_upstream(a, GPG_AGENT_FAILED);
	uv_close((uv_handle_t *)&a->listener, on_handle_closed);
	a->listener_fd = fd_close(a->listener_fd);
	agent_told_close(a->told);
}
