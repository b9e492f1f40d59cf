#include "daemon/session/console.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/session/clients.h"
#include "daemon/session/early.h"
#include "daemon/session/kept.h"
#include "daemon/session/pty.h"

struct pipe {
	uv_poll_t poll;
	struct console *console;
	int fd;
	uint8_t type; /* of its bytes' frames */
};

/* What one turn of the loop moves at most. */
#define TURN_MAX (1U << 20)

struct console {
	struct console_setup setup;
	uv_loop_t *loop;
	struct clients *clients;
	struct pty *pty;
	struct pipe *pipes[2]; /* NULL: not there yet, or closed */
	unsigned n_pipes;      /* that came */
	struct kept kept;      /* with pipes */
	struct early early;
	bool had_client; /* the client of Run has come */
	bool ended;      /* no writer is left */
	bool exiting;
	uint16_t rows, columns; /* to be set when the pty comes */
	uint64_t total;
	const struct console_handlers *handlers;
	void *data;
};

/* Without the client of Run output stays in the kernel until it has come: it gets every byte. */
static bool wants_output(const struct console *c)
{
	return !c->ended && !c->exiting && (c->had_client || c->setup.detached) && !clients_are_behind(c->clients);
}

static void update(struct console *c)
{
	if (c->pty)
		pty_want_output(c->pty, wants_output(c));
}

static void take(struct console *c, uint8_t type, const char *data, size_t n)
{
	c->total += n;
	if (!c->setup.has_pty)
		kept_add(&c->kept, type, data, n);
	clients_output(c->clients, type, data, n);
}

static void on_drained(struct console *c)
{
	c->ended = true;
	update(c);
	c->handlers->drained(c->data);
}

/* One frame from as many reads as fill it: the kernel gives at most 4 KiB of a pty at a time. */
static void on_pty_readable(void *data)
{
	struct console *c = data;
	char chunk[LIMIT_FRAME];
	size_t moved = 0;
	ssize_t n = 1;

	while (n > 0 && moved < TURN_MAX && wants_output(c)) {
		size_t len = 0;

		while (len < sizeof(chunk) && (n = pty_read(c->pty, chunk + len, sizeof(chunk) - len)) > 0)
			len += (size_t)n;
		if (len > 0)
			take(c, STREAM_STDOUT, chunk, len);
		moved += len;
	}
	if (n == 0)
		on_drained(c);
	else
		update(c);
}

static void on_pty_writable(void *data)
{
	clients_update(((struct console *)data)->clients);
}

static const struct pty_handlers pty_handlers = { .readable = on_pty_readable, .writable = on_pty_writable };

/* Pipes: nobody is waited for, so they are always read. */

static void on_pipe_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void close_pipe(struct console *c, unsigned which)
{
	struct pipe *p = c->pipes[which];

	if (!p)
		return;
	c->pipes[which] = NULL;
	uv_close((uv_handle_t *)&p->poll, on_pipe_closed);
	p->fd = fd_close(p->fd);
}

static void on_pipe(uv_poll_t *poll, int status, int events)
{
	struct pipe *p = poll->data;
	struct console *c = p->console;
	char chunk[LIMIT_FRAME];
	ssize_t n = read(p->fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (status < 0) /* libuv has stopped watching */
			uv_poll_start(poll, UV_READABLE, on_pipe);
		return;
	}
	if (n > 0) {
		take(c, p->type, chunk, (size_t)n);
		return;
	}
	close_pipe(c, p->type == STREAM_STDERR);
	if (c->n_pipes == 2 && !c->pipes[0] && !c->pipes[1])
		on_drained(c);
}

int console_add_pipe(struct console *c, int fd, bool is_stderr)
{
	struct pipe *p;
	int r;

	if (c->setup.has_pty || !c->setup.detached || c->n_pipes != is_stderr)
		return -EPROTO;
	p = calloc(1, sizeof(*p));
	r = p ? fd_set_nonblock(fd, true) : -ENOMEM;
	if (r == 0)
		r = uv_poll_init(c->loop, &p->poll, fd);
	if (r < 0) {
		free(p);
		return r;
	}
	p->poll.data = p;
	p->console = c;
	p->fd = fd;
	p->type = is_stderr ? STREAM_STDERR : STREAM_STDOUT;
	c->pipes[is_stderr] = p;
	c->n_pipes++;
	return uv_poll_start(&p->poll, UV_READABLE, on_pipe);
}

/* The clients */

static int on_input(void *data, const void *bytes, size_t n)
{
	struct console *c = data;

	if (!c->pty)
		return 0;
	return n > 0 ? pty_write(c->pty, bytes, n) : pty_write_eof(c->pty);
}

/* What comes before the pty waits for it. */
static bool on_takes_input(void *data)
{
	const struct console *c = data;

	return c->setup.has_pty ? c->ended || (c->pty && pty_input_room(c->pty)) : true;
}

static void on_size(void *data, uint16_t rows, uint16_t columns)
{
	struct console *c = data;

	if (rows > 0 && columns > 0) {
		c->rows = rows;
		c->columns = columns;
		clients_tell_size(c->clients, rows, columns);
	}
	/* The slave may be gone by now: nothing to resize. */
	if (c->pty && rows > 0 && columns > 0)
		pty_resize(c->pty, rows, columns);
}

static void on_signal(void *data, uint32_t signal)
{
	struct console *c = data;

	c->handlers->signal(c->data, signal);
}

static void on_resume(void *data)
{
	struct console *c = data;

	c->handlers->resume(c->data);
}

static void on_room(void *data)
{
	update(data);
}

static void show_kept(const struct console *c, struct attach *a)
{
	const char *data;
	size_t at = 0, n;
	uint8_t type;

	while (kept_next(&c->kept, &at, &type, &data, &n))
		attach_output(a, type, data, n);
}

static bool on_show(void *data, struct attach *a)
{
	struct console *c = data;

	if (c->setup.has_pty)
		attach_tell_size(a, c->rows, c->columns);
	else
		show_kept(c, a);
	return false;
}

/* What a program would see on any terminal whose user has left. */
static void on_hung_up(void *data)
{
	struct console *c = data;

	pty_close(c->pty);
	c->pty = NULL;
	c->ended = true;
	c->handlers->hung_up(c->data);
}

static void on_ended(void *data)
{
	struct console *c = data;

	c->handlers->ended(c->data);
}

static void on_changed(void *data, unsigned n, bool driven)
{
	struct console *c = data;

	c->handlers->changed(c->data, n, driven);
}

static const struct clients_handlers clients_handlers = {
	.input = on_input,
	.takes_input = on_takes_input,
	.size = on_size,
	.signal = on_signal,
	.resume = on_resume,
	.room = on_room,
	.show = on_show,
	.hung_up = on_hung_up,
	.ended = on_ended,
	.changed = on_changed,
};

int console_set_pty(struct console *c, int master, struct record *record)
{
	int r;

	if (!c->setup.has_pty || c->pty || c->ended)
		return -EPROTO;
	r = pty_open(c->loop, master, &pty_handlers, c, &c->pty);
	if (r < 0)
		return r;
	pty_record(c->pty, record);
	if (c->rows > 0 && c->columns > 0)
		pty_resize(c->pty, c->rows, c->columns);
	else
		pty_size(c->pty, &c->rows, &c->columns);
	clients_update(c->clients);
	update(c);
	return 0;
}

int console_attach(struct console *c, int client, unsigned flags, uint16_t rows, uint16_t columns)
{
	const bool starts = !(flags & SESSION_ATTACH_STAYS);
	int r;

	if (starts && (c->had_client || c->setup.detached || !c->setup.has_pty))
		return -EPROTO;
	/* Pipes have nothing that could be typed into. */
	if (!c->setup.has_pty)
		flags = SESSION_ATTACH_WATCH | SESSION_ATTACH_STAYS;
	r = clients_add(c->clients, client, flags, rows, columns);
	if (r < 0)
		return r;
	if (starts) {
		c->had_client = true;
		early_tell(&c->early, c->clients);
	}
	update(c);
	return 0;
}

void console_stopped(struct console *c, uint32_t signal)
{
	clients_tell_stopped(c->clients, signal);
}

void console_late(struct console *c, const struct late_event *event)
{
	if (clients_have_driver(c->clients))
		clients_tell_late(c->clients, event);
	else if (attach_tells_late(event->kind) && !c->had_client && !c->setup.detached)
		early_keep(&c->early, event);
}

void console_exit(struct console *c, uint32_t kind, uint32_t value)
{
	c->exiting = true;
	update(c);
	clients_exit(c->clients, kind, value);
}

bool console_is_awaited(const struct console *c)
{
	return clients_have_driver(c->clients);
}

bool console_is_drained(const struct console *c)
{
	return c->ended || (c->setup.has_pty && !c->pty && (c->had_client || c->setup.detached));
}

bool console_is_behind(const struct console *c)
{
	return clients_are_behind(c->clients);
}

uint64_t console_total(const struct console *c)
{
	return c->total;
}

void console_tell_last(const struct console *c, struct events *events)
{
	const char *data;
	size_t at = 0, n;
	uint8_t type;

	while (kept_next(&c->kept, &at, &type, &data, &n))
		events_last(events, type, data, n);
}

struct console *console_new(uv_loop_t *loop, const struct console_setup *setup, const struct console_handlers *handlers,
			    void *data)
{
	struct console *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->clients = clients_new(loop, setup->has_pty && !setup->detached, &clients_handlers, c);
	if (!c->clients) {
		free(c);
		return NULL;
	}
	c->loop = loop;
	c->setup = *setup;
	c->handlers = handlers;
	c->data = data;
	return c;
}

void console_close(struct console *c)
{
	if (!c)
		return;
	clients_close(c->clients);
	close_pipe(c, 0);
	close_pipe(c, 1);
	kept_done(&c->kept);
	pty_close(c->pty);
	early_done(&c->early);
	free(c);
}
