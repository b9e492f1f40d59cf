#include "daemon/session/agent/ssh_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "daemon/session/owner.h"
#include "sshagent/ssh_crypto.h"

_Static_assert(SSH_FINGERPRINT_SIZE == SESSION_FINGERPRINT_MAX, "one form of fingerprints");

static void on_poll(uv_poll_t *poll, int status, int events);

/* UV_DISCONNECT would come for a program that has only finished writing. Where nothing is read or written, the hang-up
 * alone is waited for, which comes with any event; out-of-band bytes are no part of the protocol. */
static void watch(struct ssh_client *c)
{
	static const int events[] = {
		[SSH_CLIENT_NEW] = UV_PRIORITIZED,
		[SSH_CLIENT_READING] = UV_READABLE,
		[SSH_CLIENT_WAITING] = UV_PRIORITIZED,
		[SSH_CLIENT_WRITING] = UV_WRITABLE,
	};

	uv_poll_start(&c->poll, events[c->state], on_poll);
}

static void tell(struct ssh_client *c, enum ssh_reason reason)
{
	c->told.reason = reason;
	agent_told_add(c->agent->told, &c->told);
}

/* One byte is the whole answer. */
static int answer_code(struct ssh_client *c, enum ssh_message code)
{
	int r = ssh_write_u32(&c->out, 1);

	c->state = SSH_CLIENT_WRITING;
	return r < 0 ? r : buffer_append_u8(&c->out, (uint8_t)code);
}

static int refuse(struct ssh_client *c, enum ssh_reason reason)
{
	tell(c, reason);
	return answer_code(c, SSH_AGENT_FAILURE);
}

static int on_bind(struct ssh_client *c, const struct ssh_request *q)
{
	const char *host;
	enum ssh_reason reason = ssh_verdict_bind(c->agent->rules, &c->bound, q, ssh_signature_verify, &host);

	snprintf(c->told.target, sizeof(c->told.target), "%s", host);
	if (reason != SSH_ALLOWED)
		return refuse(c, reason);
	tell(c, reason);
	return answer_code(c, SSH_AGENT_SUCCESS);
}

static int ask(struct ssh_client *c)
{
	if (!ssh_agent_ask(c->agent, c))
		return refuse(c, SSH_AGENT_FAILED);
	c->state = SSH_CLIENT_WAITING;
	return 0;
}

static int on_request(struct ssh_client *c, struct ssh_span body)
{
	struct ssh_agent *a = c->agent;
	struct ssh_request q;
	enum ssh_reason reason;
	int r = ssh_request_parse(body, &q);

	c->told.request = q.kind;
	c->told.code = q.type;
	c->told.keys = 0;
	c->told.fingerprint[0] = c->told.target[0] = '\0';
	if (r < 0)
		return refuse(c, SSH_MALFORMED);
	if (q.key.len > 0)
		ssh_fingerprint(q.key, c->told.fingerprint);
	switch (q.kind) {
	case SSH_REQUEST_LIST:
		return ask(c);
	case SSH_REQUEST_BIND:
		return on_bind(c, &q);
	case SSH_REQUEST_SIGN:
		reason = ssh_verdict_sign(a->rules, &c->bound, &q, ssh_agent_names(a, c->told.fingerprint),
					  c->told.target);
		return reason == SSH_ALLOWED ? ask(c) : refuse(c, reason);
	case SSH_REQUEST_OTHER:
		break;
	}
	return refuse(c, SSH_NOT_SERVED);
}

/* 1: a request was begun; 0: it is not all there; -errno. */
static int next_request(struct ssh_client *c)
{
	ssize_t n = ssh_frame_size(c->in + c->at, c->len - c->at, LIMIT_SSH_REQUEST);
	int r;

	if (n < 0) { /* where the next one begins is not known */
		c->told = (struct session_agent){ .type = SESSION_SSH, .pid = c->told.pid };
		tell(c, SSH_MALFORMED);
		return (int)n;
	}
	if (n == 0)
		return 0;
	c->frame = (size_t)n;
	r = on_request(c, (struct ssh_span){ c->in + c->at + SSH_FRAME_HEAD, c->frame - SSH_FRAME_HEAD });
	return r < 0 ? r : 1;
}

/* 1: it was written, the next one may come; 0: it must wait; -errno. */
static int write_answer(struct ssh_client *c)
{
	while (c->out_at < c->out.len) {
		ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.len - c->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->out_at += (size_t)n;
	}
	c->out.len = c->out_at = 0;
	c->at += c->frame;
	c->state = SSH_CLIENT_READING;
	return 1;
}

/* 1: more bytes; 0: none yet; -errno, also at the end of file. */
static int read_more(struct ssh_client *c)
{
	ssize_t n;

	memmove(c->in, c->in + c->at, c->len - c->at);
	c->len -= c->at;
	c->at = 0;
	do
		n = recv(c->fd, c->in + c->len, sizeof(c->in) - c->len, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	c->len += (size_t)n;
	return n == 0 ? -ECONNRESET : 1;
}

/* As far as it goes; bytes are read once in a turn, so that others have theirs. */
static void go_on(struct ssh_client *c)
{
	bool may_read = true;
	int r = 1;

	while (r > 0) {
		if (c->state == SSH_CLIENT_WRITING)
			r = write_answer(c);
		else if (c->state == SSH_CLIENT_READING)
			r = next_request(c);
		else
			break;
		if (r == 0 && c->state == SSH_CLIENT_READING && may_read) {
			may_read = false;
			r = read_more(c);
		}
	}
	if (r < 0)
		ssh_client_close(c);
	else
		watch(c);
}

void ssh_client_answered(struct ssh_client *c, struct ssh_span body)
{
	int r = -EBADMSG;

	if (c->told.request == SSH_REQUEST_LIST) {
		r = ssh_agent_filter(c->agent, body, &c->out);
		if (r >= 0)
			c->told.keys = (uint32_t)r;
	} else if (ssh_signature_is_valid(body)) {
		r = ssh_write_string(&c->out, body);
	}
	if (r >= 0) {
		tell(c, SSH_ALLOWED);
		c->state = SSH_CLIENT_WRITING;
	} else {
		c->out.len = 0;
		r = refuse(c, SSH_AGENT_FAILED);
	}
	if (r < 0)
		ssh_client_close(c);
	else
		go_on(c);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct ssh_client *c = poll->data;

	if (status < 0 || events & UV_PRIORITIZED)
		ssh_client_close(c);
	else
		go_on(c);
}

static void on_owner(void *data, uint32_t pid, const char *program)
{
	struct ssh_client *c = data;

	c->owner = 0;
	c->told.pid = pid;
	snprintf(c->told.program, sizeof(c->told.program), "%s", program);
	c->state = SSH_CLIENT_READING;
	go_on(c);
}

static void on_closed(uv_handle_t *handle)
{
	struct ssh_client *c = handle->data;
	struct ssh_agent *a = c->agent;

	buffer_done(&c->out);
	free(c);
	ssh_agent_client_gone(a);
}

int ssh_client_new(struct ssh_agent *a, int fd)
{
	struct ssh_client *c = malloc(sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	/* All but .in */
	memset(c, 0, offsetof(struct ssh_client, in));
	c->agent = a;
	c->fd = fd;
	c->told.type = SESSION_SSH;
	c->out.max = LIMIT_SSH_ANSWER + SSH_FRAME_HEAD;
	r = uv_poll_init(a->loop, &c->poll, fd);
	if (r < 0) {
		free(c);
		return r;
	}
	c->poll.data = c;
	TAILQ_INSERT_TAIL(&a->clients, c, link);
	a->n_clients++;
	c->owner = owner_ask_local(a->link, fd, on_owner, c);
	if (c->owner == 0)
		on_owner(c, 0, "");
	else
		watch(c);
	return 0;
}

void ssh_client_close(struct ssh_client *c)
{
	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	if (c->owner)
		owner_forget(c->agent->link, c->owner);
	ssh_agent_forget(c->agent, c);
	TAILQ_REMOVE(&c->agent->clients, c, link);
	uv_close((uv_handle_t *)&c->poll, on_closed);
	c->fd = fd_close(c->fd);
}
