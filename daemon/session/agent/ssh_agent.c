#include "daemon/session/agent/ssh_agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/session/agent/ssh_client.h"
#include "sshagent/ssh_crypto.h"

static void on_upstream(uv_poll_t *poll, int status, int events);
static void on_listener(uv_poll_t *poll, int status, int events);

/* ---- the user's agent ---- */

static void watch_upstream(struct ssh_agent *a)
{
	if (a->agent_fd >= 0)
		uv_poll_start(&a->upstream, UV_READABLE | (a->out_at < a->out.len ? UV_WRITABLE : 0), on_upstream);
}

static void answer(struct ssh_agent *a, struct ssh_span body)
{
	struct ssh_client *c = a->asking;

	a->busy = false;
	a->asking = NULL;
	if (c)
		ssh_client_answered(c, body);
}

static void begin_next(struct ssh_agent *a)
{
	struct ssh_client *c = TAILQ_FIRST(&a->waiting);

	if (a->busy || !c || a->agent_fd < 0)
		return;
	TAILQ_REMOVE(&a->waiting, c, waiting);
	c->queued = false;
	a->asking = c;
	a->busy = true;
	a->out.len = a->out_at = 0;
	if (buffer_append(&a->out, c->in + c->at, c->frame) < 0) {
		answer(a, (struct ssh_span){ NULL, 0 });
		return;
	}
	watch_upstream(a);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct ssh_agent *a = handle->data;

	a->handles--;
	ssh_agent_settle(a);
}

/* Whoever waits is told that there is no answer; who asks later is told at once. */
static void lose_upstream(struct ssh_agent *a)
{
	struct ssh_client *c;

	if (a->agent_fd < 0)
		return;
	if (!a->closing)
		log_warning("the user's ssh-agent is gone");
	uv_close((uv_handle_t *)&a->upstream, on_handle_closed);
	a->agent_fd = fd_close(a->agent_fd);
	if (a->closing)
		return;
	answer(a, (struct ssh_span){ NULL, 0 });
	while ((c = TAILQ_FIRST(&a->waiting))) {
		TAILQ_REMOVE(&a->waiting, c, waiting);
		c->queued = false;
		ssh_client_answered(c, (struct ssh_span){ NULL, 0 });
	}
}

static int send_request(struct ssh_agent *a)
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

/* One answer to each request, and nothing unasked. */
static int take_answer(struct ssh_agent *a)
{
	ssize_t n = ssh_frame_size((const uint8_t *)a->in.data, a->in.len, LIMIT_SSH_ANSWER);

	if (n < 0 || (a->in.len > 0 && !a->busy) || (n > 0 && (size_t)n < a->in.len))
		return -EBADMSG;
	if (n == 0)
		return 0;
	a->in.len = 0; /* the bytes stay where they are until the next ones are read */
	answer(a, (struct ssh_span){ (const uint8_t *)a->in.data + SSH_FRAME_HEAD, (size_t)n - SSH_FRAME_HEAD });
	return 0;
}

static int receive_answer(struct ssh_agent *a)
{
	size_t room = a->in.max - a->in.len < 4096 ? a->in.max - a->in.len : 4096;
	int r = room > 0 ? buffer_reserve(&a->in, room) : -EMSGSIZE;
	ssize_t n;

	if (r < 0)
		return r;
	n = recv(a->agent_fd, a->in.data + a->in.len, room, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	a->in.len += (size_t)n;
	return take_answer(a);
}

static void on_upstream(uv_poll_t *poll, int status, int events)
{
	struct ssh_agent *a = poll->data;
	int r = status;

	if (r >= 0 && events & UV_WRITABLE)
		r = send_request(a);
	if (r >= 0 && events & UV_READABLE)
		r = receive_answer(a);
	if (r < 0) {
		lose_upstream(a);
		return;
	}
	begin_next(a);
	watch_upstream(a);
}

bool ssh_agent_ask(struct ssh_agent *a, struct ssh_client *c)
{
	if (a->agent_fd < 0)
		return false;
	TAILQ_INSERT_TAIL(&a->waiting, c, waiting);
	c->queued = true;
	/* From the loop, when the socket takes bytes: never from within the client's own call. */
	uv_poll_start(&a->upstream, UV_READABLE | UV_WRITABLE, on_upstream);
	return true;
}

void ssh_agent_forget(struct ssh_agent *a, struct ssh_client *c)
{
	if (c->queued)
		TAILQ_REMOVE(&a->waiting, c, waiting);
	c->queued = false;
	if (a->asking == c)
		a->asking = NULL;
}

/* ---- keys ---- */

bool ssh_agent_names(const struct ssh_agent *a, const char *fingerprint)
{
	/* No key, or no memory for its fingerprint. */
	if (fingerprint[0] == '\0')
		return false;
	if (ssh_rules_name_key(a->rules, fingerprint, (struct ssh_span){ NULL, 0 }))
		return true;
	for (uint32_t i = 0; i < a->n_learnt; i++)
		if (strcmp(a->learnt[i], fingerprint) == 0)
			return true;
	return false;
}

static int write_named(struct ssh_agent *a, struct ssh_identities *from, struct buffer *ret)
{
	struct ssh_span key, comment;
	int n = 0, r;

	while ((r = ssh_identities_next(from, &key, &comment)) > 0) {
		char fingerprint[SSH_FINGERPRINT_SIZE];

		ssh_fingerprint(key, fingerprint);
		if (!ssh_rules_name_key(a->rules, fingerprint, comment))
			continue;
		if (a->n_learnt < LIMIT_SSH_KEYS)
			memcpy(a->learnt[a->n_learnt++], fingerprint, sizeof(fingerprint));
		r = ssh_write_string(ret, key);
		if (r == 0)
			r = ssh_write_string(ret, comment);
		if (r < 0)
			return r;
		n++;
	}
	return r < 0 ? r : n;
}

static void put_u32(char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (char)(value >> (24 - 8 * i));
}

int ssh_agent_filter(struct ssh_agent *a, struct ssh_span body, struct buffer *ret)
{
	struct ssh_identities from;
	int n, r = ssh_identities_begin(body, &from);

	a->n_learnt = 0;
	/* Length and number are known at the end. */
	if (r == 0)
		r = ssh_write_u32(ret, 0);
	if (r == 0)
		r = buffer_append_u8(ret, SSH_AGENT_IDENTITIES);
	if (r == 0)
		r = ssh_write_u32(ret, 0);
	if (r < 0)
		return r;
	n = write_named(a, &from, ret);
	if (n < 0)
		return n;
	put_u32(ret->data, (uint32_t)ret->len - SSH_FRAME_HEAD);
	put_u32(ret->data + SSH_FRAME_HEAD + 1, (uint32_t)n);
	return n;
}

/* ---- programs ---- */

static void watch_listener(struct ssh_agent *a)
{
	if (a->closing)
		return;
	if (a->n_clients < LIMIT_SSH_CONNECTIONS)
		uv_poll_start(&a->listener, UV_READABLE, on_listener);
	else
		uv_poll_stop(&a->listener);
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct ssh_agent *a = poll->data;

	while (a->n_clients < LIMIT_SSH_CONNECTIONS) {
		int fd = accept4(a->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			break;
		if (ssh_client_new(a, fd) < 0)
			fd_close(fd);
	}
	watch_listener(a);
}

void ssh_agent_settle(struct ssh_agent *a)
{
	if (!a->closing || a->handles > 0 || a->n_clients > 0)
		return;
	buffer_done(&a->in);
	buffer_done(&a->out);
	free(a);
}

void ssh_agent_client_gone(struct ssh_agent *a)
{
	a->n_clients--;
	watch_listener(a);
	ssh_agent_settle(a);
}

/* ---- the service ---- */

static int service_prepare(const void *data, size_t len, struct ssh_lent *ret)
{
	void *block;
	int r = ssh_crypto_prepare();

	return r < 0 ? r : ssh_rules_decode(data, len, &ret->rules, &block);
}

static int begin_poll(struct ssh_agent *a, uv_poll_t *poll, int fd)
{
	int r = uv_poll_init(a->loop, poll, fd);

	poll->data = a;
	if (r == 0)
		a->handles++;
	return r;
}

static int service_open(uv_loop_t *loop, const struct ssh_lent *lent, struct events *events, struct link *link,
			int listener, struct ssh_agent **ret)
{
	struct ssh_agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->loop = loop;
	a->rules = &lent->rules;
	a->link = link;
	a->listener_fd = listener;
	a->agent_fd = lent->agent_fd;
	a->out.max = LIMIT_SSH_REQUEST + SSH_FRAME_HEAD;
	a->in.max = LIMIT_SSH_ANSWER + SSH_FRAME_HEAD;
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
	watch_listener(a);
	*ret = a;
	return 0;
}

static void service_close(struct ssh_agent *a)
{
	struct ssh_client *c;

	a->closing = true;
	while ((c = TAILQ_FIRST(&a->clients)))
		ssh_client_close(c);
	lose_upstream(a);
	uv_close((uv_handle_t *)&a->listener, on_handle_closed);
	a->listener_fd = fd_close(a->listener_fd);
	agent_told_close(a->told);
}

static const struct ssh_service service = { service_prepare, service_open, service_close };
const struct ssh_service *const ssh_service = &service;
