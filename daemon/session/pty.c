#include "daemon/session/pty.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/session/record.h"

struct pty {
	uv_poll_t poll;
	int fd;
	bool want_output;
	bool dead;        /* the slave side is gone: input has no reader */
	bool eof_pending; /* VEOF goes out when the queue is empty: what it means depends on the terminal's state then
			   */
	char last;        /* last byte given to the terminal */
	struct buffer input;
	size_t offset;         /* of .input: written already */
	struct record *record; /* NULL: none */
	const struct pty_handlers *handlers;
	void *data;
};

static void on_poll(uv_poll_t *poll, int status, int events);

static bool wants_input(const struct pty *p)
{
	return !p->dead && (p->input.len > 0 || p->eof_pending);
}

static void watch(struct pty *p)
{
	int events = (p->want_output ? UV_READABLE : 0) | (wants_input(p) ? UV_WRITABLE : 0);

	/* A master whose slave is closed polls as hung up for ever: never watch it without a reader. */
	if (events)
		uv_poll_start(&p->poll, events, on_poll);
	else
		uv_poll_stop(&p->poll);
}

static void drop_input(struct pty *p)
{
	p->dead = true;
	p->eof_pending = false;
	p->input.len = p->offset = 0;
}

static void put_eof(struct pty *p)
{
	struct termios t;
	char eof[2];
	size_t n;

	p->eof_pending = false;
	if (tcgetattr(p->fd, &t) < 0)
		return;
	eof[0] = eof[1] = (char)t.c_cc[VEOF];
	/* In the middle of a line the first one only hands the line over. */
	n = (t.c_lflag & ICANON) && p->last != '\n' ? 2 : 1;
	if (buffer_append(&p->input, eof, n) < 0)
		drop_input(p);
}

static void flush_input(struct pty *p)
{
	while (p->offset < p->input.len) {
		ssize_t n = write(p->fd, p->input.data + p->offset, p->input.len - p->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN)
				drop_input(p);
			return;
		}
		p->last = p->input.data[p->offset + n - 1];
		p->offset += n;
	}
	p->input.len = p->offset = 0;
	if (p->eof_pending) {
		put_eof(p);
		if (p->input.len > 0)
			flush_input(p);
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct pty *p = poll->data;

	if (status < 0) { /* libuv has stopped watching; reading tells what is wrong */
		watch(p);
		events = UV_READABLE;
	}
	if (events & UV_WRITABLE) {
		bool had_room = pty_input_room(p);

		flush_input(p);
		watch(p);
		if (!had_room && pty_input_room(p))
			p->handlers->writable(p->data);
	}
	if ((events & UV_READABLE) && p->want_output)
		p->handlers->readable(p->data);
}

void pty_want_output(struct pty *p, bool want)
{
	if (p->want_output == want)
		return;
	p->want_output = want;
	watch(p);
}

ssize_t pty_read(struct pty *p, void *data, size_t n)
{
	ssize_t r;

	do
		r = read(p->fd, data, n);
	while (r < 0 && errno == EINTR);
	if (r < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (r > 0) {
		record_output(p->record, data, (size_t)r);
		return r;
	}
	drop_input(p); /* EIO: no slave is open */
	return 0;
}

int pty_write(struct pty *p, const void *data, size_t n)
{
	int r;

	if (p->dead)
		return 0;
	if (p->offset > 0) {
		buffer_consume(&p->input, p->offset);
		p->offset = 0;
	}
	r = buffer_append(&p->input, data, n);
	if (r < 0)
		return r;
	record_input(p->record, data, n);
	flush_input(p);
	watch(p);
	return 0;
}

bool pty_input_room(const struct pty *p)
{
	return p->input.len - p->offset < PTY_INPUT_MAX;
}

int pty_write_eof(struct pty *p)
{
	if (!p->dead)
		p->eof_pending = true;
	flush_input(p);
	watch(p);
	return 0;
}

void pty_record(struct pty *p, struct record *record)
{
	p->record = record;
}

int pty_resize(struct pty *p, uint16_t rows, uint16_t columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	record_size(p->record, rows, columns);
	return ioctl(p->fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

void pty_size(const struct pty *p, uint16_t *rows, uint16_t *columns)
{
	struct winsize size = { 0 };

	(void)ioctl(p->fd, TIOCGWINSZ, &size);
	*rows = size.ws_row;
	*columns = size.ws_col;
}

int pty_open(uv_loop_t *loop, int master, const struct pty_handlers *handlers, void *data, struct pty **ret)
{
	struct pty *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = fd_set_nonblock(master, true);
	if (r == 0)
		r = uv_poll_init(loop, &p->poll, master);
	if (r < 0) {
		free(p);
		return r;
	}
	p->poll.data = p;
	p->fd = master;
	p->last = '\n';
	p->input.max = PTY_INPUT_MAX + LIMIT_FRAME + 2;
	p->handlers = handlers;
	p->data = data;
	*ret = p;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct pty *p = handle->data;

	buffer_done(&p->input);
	free(p);
}

void pty_close(struct pty *p)
{
	if (!p)
		return;
	p->want_output = false;
	uv_close((uv_handle_t *)&p->poll, on_closed);
	p->fd = fd_close(p->fd);
}
