#include "daemon/session/agent/gpg_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "daemon/session/owner.h"

_Static_assert(GPG_GRIP_LEN < SESSION_FINGERPRINT_MAX, "a keygrip has room");

/* Two lines of HAVEKEY's length: what asks for a signature is shorter. */
#define COMMANDS_MAX 2048
#define GREETING "OK Keys of the user's gpg-agent, lent to a session of isod\n"

static void on_poll(uv_poll_t *poll, int status, int events);

/* UV_DISCONNECT would come for a program that has only finished writing. Where nothing is read or written, the hang-up
 * alone is waited for, which comes with any event; out-of-band bytes are no part of the protocol. */
static void watch(struct gpg_client *c)
{
	static const int events[] = {
		[GPG_CLIENT_NEW] = UV_PRIORITIZED,
		[GPG_CLIENT_READING] = UV_READABLE,
		[GPG_CLIENT_WAITING] = UV_PRIORITIZED,
		[GPG_CLIENT_WRITING] = UV_WRITABLE,
	};

	uv_poll_start(&c->poll, events[c->state], on_poll);
}

static void tell(struct gpg_client *c, enum gpg_reason reason)
{
	c->told.reason = reason;
	agent_told_add(c->agent->told, &c->told);
}

static int answer_ok(struct gpg_client *c)
{
	c->state = GPG_CLIENT_WRITING;
	return buffer_append(&c->out, "OK\n", 3);
}

static int answer_error(struct gpg_client *c, unsigned error)
{
	c->state = GPG_CLIENT_WRITING;
	return buffer_printf(&c->out, "ERR %u <isod>\n", error);
}

static int refuse(struct gpg_client *c, enum gpg_reason reason)
{
	tell(c, reason);
	return answer_error(c, gpg_reason_error(reason));
}

static int ask(struct gpg_client *c, const struct gpg_request *q)
{
	struct gpg_agent *a = c->agent;
	int r;

	c->commands.len = 0;
	r = gpg_commands_write(a->rules, &c->chosen, q, &c->commands);
	if (r < 0)
		return r;
	if (!gpg_agent_ask(a, c))
		return refuse(c, a->lost);
	c->state = GPG_CLIENT_WAITING;
	return 0;
}

/* Which key it is about, and for what: a hash, or a command that is not served. */
static void describe(struct gpg_client *c, const struct gpg_request *q)
{
	struct session_agent *t = &c->told;
	const char *grip = q->kind == GPG_REQUEST_SIGN ? c->chosen.grip : q->grip;

	t->request = q->kind;
	t->fingerprint[0] = t->target[0] = '\0';
	if (q->kind == GPG_REQUEST_HAVEKEY && q->n_grips > 0)
		gpg_grip_canonical(q->grips, GPG_GRIP_LEN, t->fingerprint);
	else
		snprintf(t->fingerprint, sizeof(t->fingerprint), "%s", grip);
	if (q->kind == GPG_REQUEST_SIGN)
		snprintf(t->target, sizeof(t->target), "%s", gpg_hash_name(c->chosen.algorithm));
	if (q->kind == GPG_REQUEST_SETHASH)
		snprintf(t->target, sizeof(t->target), "%s", gpg_hash_name(q->algorithm));
	if (q->kind != GPG_REQUEST_OTHER)
		return;
	for (size_t i = 0; i < q->word_len && i < 32; i++) {
		t->target[i] = q->word[i] > ' ' && q->word[i] <= '~' ? q->word[i] : '?';
		t->target[i + 1] = '\0';
	}
}

static int on_request(struct gpg_client *c, const char *line, size_t len)
{
	struct gpg_agent *a = c->agent;
	struct gpg_request q;
	int r = gpg_request_parse(line, len, &q);
	enum gpg_reason reason = r < 0 ? GPG_MALFORMED : gpg_verdict(a->rules, &c->chosen, &q);

	describe(c, &q);
	if (q.kind == GPG_REQUEST_OPTION)
		return answer_error(c, gpg_reason_error(reason));
	if (reason != GPG_ALLOWED)
		return refuse(c, reason);
	switch (q.kind) {
	case GPG_REQUEST_SILENT:
		return 0;
	case GPG_REQUEST_HAVEKEY:
	case GPG_REQUEST_SIGN:
		return ask(c, &q);
	case GPG_REQUEST_VERSION:
		r = buffer_printf(&c->out, "D %s\n", a->version);
		break;
	case GPG_REQUEST_BYE:
		c->leaves = true;
		break;
	default:
		break;
	}
	return r < 0 ? r : answer_ok(c);
}

/* 1: a line was taken; 0: it is not all there; -errno. */
static int next_request(struct gpg_client *c)
{
	const char *line = c->in + c->at;
	ssize_t n = gpg_line_size(line, c->len - c->at);
	int r;

	if (n < 0) { /* where the next one begins is not known */
		describe(c, &(struct gpg_request){ .kind = GPG_REQUEST_OTHER });
		tell(c, GPG_MALFORMED);
		return (int)n;
	}
	if (n == 0)
		return 0;
	c->at += (size_t)n;
	r = on_request(c, line, (size_t)n - 1);
	return r < 0 ? r : 1;
}

/* 1: it was written, the next one may come; 0: it must wait; -errno. */
static int write_answer(struct gpg_client *c)
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
	c->state = GPG_CLIENT_READING;
	return c->leaves ? -ECONNRESET : 1;
}

/* 1: more bytes; 0: none yet; -errno, also at the end of file. */
static int read_more(struct gpg_client *c)
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
static void go_on(struct gpg_client *c)
{
	bool may_read = true;
	int r = 1;

	while (r > 0) {
		if (c->state == GPG_CLIENT_WRITING)
			r = write_answer(c);
		else if (c->state == GPG_CLIENT_READING)
			r = next_request(c);
		else
			break;
		if (r == 0 && c->state == GPG_CLIENT_READING && may_read) {
			may_read = false;
			r = read_more(c);
		}
	}
	if (r < 0)
		gpg_client_close(c);
	else
		watch(c);
}

void gpg_client_answered(struct gpg_client *c, enum gpg_reason reason, unsigned error, const struct buffer *data)
{
	bool sign = c->told.request == GPG_REQUEST_SIGN;
	int r = 0;

	if (error == 0) {
		if (sign)
			tell(c, reason);
		r = data->len > 0 ? buffer_append(&c->out, data->data, data->len) : 0;
		r = r < 0 ? r : answer_ok(c);
	} else {
		/* That the agent has no such key is an answer like another. */
		if (sign || reason != GPG_AGENT_FAILED)
			tell(c, reason);
		r = answer_error(c, error);
	}
	if (r < 0)
		gpg_client_close(c);
	else
		go_on(c);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct gpg_client *c = poll->data;

	if (status < 0 || events & UV_PRIORITIZED)
		gpg_client_close(c);
	else
		go_on(c);
}

static void on_owner(void *data, uint32_t pid, const char *program)
{
	struct gpg_client *c = data;

	c->owner = 0;
	c->told.pid = pid;
	snprintf(c->told.program, sizeof(c->told.program), "%s", program);
	c->state = GPG_CLIENT_WRITING;
	if (buffer_append_string(&c->out, GREETING) < 0)
		gpg_client_close(c);
	else
		go_on(c);
}

static void on_closed(uv_handle_t *handle)
{
	struct gpg_client *c = handle->data;
	struct gpg_agent *a = c->agent;

	buffer_done(&c->commands);
	buffer_done(&c->out);
	free(c);
	gpg_agent_client_gone(a);
}

int gpg_client_new(struct gpg_agent *a, int fd)
{
	struct gpg_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->agent = a;
	c->fd = fd;
	c->told.type = SESSION_GPG;
	c->commands.max = COMMANDS_MAX;
	c->out.max = LIMIT_GPG_ANSWER + 64;
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

void gpg_client_close(struct gpg_client *c)
{
	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	if (c->owner)
		owner_forget(c->agent->link, c->owner);
	gpg_agent_forget(c->agent, c);
	TAILQ_REMOVE(&c->agent->clients, c, link);
	uv_close((uv_handle_t *)&c->poll, on_closed);
	c->fd = fd_close(c->fd);
}
