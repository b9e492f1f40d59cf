#include "daemon/control/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/control/audit/audit_exec.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "daemon/control/session_json.h"
#include "daemon/wire/exec_wire.h"
#include "json/write.h"

struct exec {
	LIST_ENTRY(exec) entry;
	struct session *session;
	struct connection *client; /* NULL once it is told */
	int64_t number;            /* of the session's */
	bool has_terminal, started;
	int terminal; /* master, until it is handed to the client; -1 */
	int fd;
	uv_poll_t poll;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Closing the channel hangs up whatever still runs. */
static void drop(struct exec *x)
{
	LIST_REMOVE(x, entry);
	if (x->client)
		x->client->exec = NULL;
	fd_close(x->terminal);
	uv_close((uv_handle_t *)&x->poll, on_closed);
	x->fd = fd_close(x->fd);
}

static struct connection *take_client(struct exec *x)
{
	struct connection *c = take_ptr(x->client);

	if (c)
		c->exec = NULL;
	return c;
}

static void tell_failed(struct exec *x, const struct error *e)
{
	struct connection *c = take_client(x);

	audit_exec_failed(x->session, x->number, e);
	drop(x);
	if (!c)
		return;
	connection_reply_error(c, e);
	connection_call_done(c);
}

static void tell_lost(struct exec *x)
{
	struct error e = ERROR_INIT;

	error_set(&e, ERROR_SANDBOX_UNAVAILABLE, 0, "exec", "See `isoctl log`.",
		  "The session was ended, and the command with it.");
	tell_failed(x, &e);
}

static struct json_writer *begin_reply(struct exec *x, struct connection *c, const char *event, bool continues)
{
	struct json_writer *w = connection_reply_begin(c, continues);

	if (w) {
		json_write_member_string(w, "event", event);
		json_write_key(w, "session");
		session_write(x->session, w);
		json_write_member_integer(w, "exec", x->number);
	}
	return w;
}

static int on_started(struct exec *x)
{
	struct connection *c = x->client;

	if (x->started || (x->terminal >= 0) != x->has_terminal)
		return -EBADMSG;
	x->started = true;
	if (x->has_terminal)
		connection_reply_descriptor(c, take_fd(&x->terminal));
	connection_reply_end(c, begin_reply(x, c, "started", true));
	return 0;
}

static int on_exited(struct exec *x, const struct exec_message *m)
{
	const bool code = m->kind == EXIT_KIND_CODE && m->value >= 0 && m->value <= 255;
	const bool signal = m->kind == EXIT_KIND_SIGNAL && m->value > 0 && m->value <= 64;
	struct connection *c;
	struct json_writer *w;

	if (!x->started || (!code && !signal))
		return -EBADMSG;
	c = take_client(x);
	audit_exec_exit(x->session, x->number, (enum exit_kind)m->kind, m->value);
	w = begin_reply(x, c, "exited", false);
	if (w)
		json_write_member_integer(w, "exit", session_exit_code((enum exit_kind)m->kind, m->value));
	connection_reply_end(c, w);
	connection_call_done(c);
	drop(x);
	return 0;
}

/* 0, or -EBADMSG; x may be gone after EXEC_FAILED and EXEC_EXITED. */
static int handle(struct exec *x, struct exec_message *m, int *fd)
{
	switch (m->type) {
	case EXEC_TERMINAL:
		if (x->started || !x->has_terminal || x->terminal >= 0 || *fd < 0)
			return -EBADMSG;
		x->terminal = take_fd(fd);
		return 0;
	case EXEC_STARTED:
		return on_started(x);
	case EXEC_EXITED:
		return on_exited(x, m);
	case EXEC_FAILED:
		error_sanitise(&m->error);
		error_set(&m->error, ERROR_INTERNAL, 0, "exec", NULL, "The command could not be started.");
		tell_failed(x, &m->error);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* False once x is gone. */
static bool read_one(struct exec *x)
{
	struct exec_message m = { 0 };
	_cleanup_close_ int fd = -1;
	size_t n_fds = 1;
	ssize_t n = fd_pass_receive(x->fd, &m, sizeof(m), &fd, &n_fds);
	bool last = m.type == EXEC_FAILED || m.type == EXEC_EXITED;

	if (n == -EAGAIN)
		return false;
	/* A client that does not read its reply is dropped, and x with it. */
	if (n == sizeof(m) && handle(x, &m, &fd) == 0)
		return !last && x->fd >= 0;
	tell_lost(x);
	return false;
}

/* Three messages are all that can come. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
	read_one(poll->data);
}

int exec_signal(struct session *s, int64_t number, int signal)
{
	struct exec_message m = { .type = EXEC_SIGNAL, .value = signal ? signal : SIGKILL };
	struct exec *x;
	ssize_t n;

	LIST_FOREACH (x, &s->execs, entry)
		if (x->number == number)
			break;
	if (!x)
		return -ESRCH;
	n = fd_pass_send(x->fd, &m, sizeof(m), NULL, 0);
	return n < 0 ? (int)n : 0;
}

void exec_on_hang_up(struct exec *x)
{
	x->client = NULL;
	drop(x);
}

void exec_session_over(struct session *s)
{
	struct exec *x, *next;

	for (x = LIST_FIRST(&s->execs); x; x = next) {
		next = LIST_NEXT(x, entry);
		while (read_one(x))
			;
	}
	while ((x = LIST_FIRST(&s->execs)))
		tell_lost(x);
}

static int seal(const struct plan *command, int *ret, struct error *e)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(LIMIT_PLAN);
	int r = plan_encode(command, &bytes);

	if (r == -EMSGSIZE)
		return error_set(e, ERROR_LIMIT, E2BIG, "exec", "Pass less: put long texts into files.",
				 "The arguments are larger than a session can take.");
	if (r == 0)
		r = *ret = fd_sealed_new("command", bytes.data, bytes.len);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "exec", NULL, "The command could not be written.") : 0;
}

static int ask(const struct session *s, const struct connection *c, const struct plan *command, int channel,
	       const int *stdio, size_t n_stdio, struct error *e)
{
	struct control_message m = {
		.type = CONTROL_EXEC,
		.flags = command->flags & PLAN_PTY ? CONTROL_START_PTY : 0,
		.connection = c->number,
		.uid = c->uid,
	};
	_cleanup_close_ int sealed = -1;
	int fds[5] = { -1, channel }, r = seal(command, &sealed, e);

	if (r < 0)
		return r;
	fds[0] = sealed;
	for (size_t i = 0; i < n_stdio; i++)
		fds[2 + i] = stdio[i];
	memcpy(m.id, s->id, ISOD_ID_LEN);
	r = monitor_send(&s->control->monitor, &m, fds, 2 + n_stdio);
	return r < 0 ? error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, "exec", "Try again.",
				 "isod could not be asked to start the command.")
		     : 0;
}

int exec_start(struct session *s, struct connection *c, const struct plan *command, const int *stdio, size_t n_stdio,
	       struct error *e)
{
	struct exec *x = calloc(1, sizeof(*x));
	_cleanup_close_ int theirs = -1;
	int pair[2], r;

	if (!x || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = x ? -errno : -ENOMEM;
		free(x);
		return error_set(e, ERROR_INTERNAL, -r, "exec", NULL, "There is no channel: %s.", strerror(-r));
	}
	theirs = pair[1];
	*x = (struct exec){ .session = s, .terminal = -1, .fd = pair[0], .has_terminal = command->flags & PLAN_PTY };
	r = fd_set_nonblock(x->fd, true);
	if (r == 0)
		r = uv_poll_init(s->control->loop, &x->poll, x->fd);
	if (r < 0) {
		fd_close(x->fd);
		free(x);
		return error_set(e, ERROR_INTERNAL, -r, "exec", NULL, "There is no channel: %s.", strerror(-r));
	}
	x->poll.data = x;
	LIST_INSERT_HEAD(&s->execs, x, entry);
	x->number = ++s->n_execs;
	r = audit_exec(s, x->number, command->argv, c->pid);
	if (r < 0)
		error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, "audit log", "Make room on the disk of the audit log.",
			  "The command could not be written to the audit log.");
	else
		r = ask(s, c, command, theirs, stdio, n_stdio, e);
	if (r < 0) {
		drop(x);
		return r;
	}
	x->client = c;
	c->exec = x;
	uv_poll_start(&x->poll, UV_READABLE | UV_DISCONNECT, on_poll);
	connection_set_busy(c);
	return 0;
}
