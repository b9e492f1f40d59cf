#include "daemon/session/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "proto/stream.h"

#define INPUT_MAX (STREAM_HEADER + LIMIT_FRAME)
/* Output frames above the mark: one more STDOUT frame, and the small ones that must never fail. */
#define OUTPUT_ROOM (ATTACH_OUTPUT_MAX + 2 * INPUT_MAX)
/* What one turn of the loop moves at most in one direction. */
#define TURN_MAX (1U << 20)

struct attach {
	uv_poll_t poll;
	int fd;
	struct pty *pty;
	struct buffer input;
	struct buffer output;
	size_t offset; /* of .output: written already */
	uint64_t total;
	bool input_closed; /* STREAM_STDIN of length 0 was seen */
	bool pty_ended;
	bool exiting;          /* the EXIT frame is queued */
	unsigned told;         /* paths of late files */
	uint32_t told_classes; /* of which one was told, as bits */
	uint32_t untold;       /* others */
	bool gone;
	const struct attach_handlers *handlers;
	void *data;
};

static void on_poll(uv_poll_t *poll, int status, int events);

static size_t waiting(const struct attach *a)
{
	return a->output.len - a->offset;
}

static bool takes_input(const struct attach *a)
{
	return !a->exiting && (a->pty ? pty_input_room(a->pty) : a->input.len < INPUT_MAX);
}

static void watch(struct attach *a)
{
	int events = UV_DISCONNECT;

	if (a->gone)
		return;
	if (takes_input(a))
		events |= UV_READABLE;
	if (waiting(a) > 0)
		events |= UV_WRITABLE;
	uv_poll_start(&a->poll, events, on_poll);
	if (a->pty)
		pty_want_output(a->pty, !a->pty_ended && !a->exiting && waiting(a) < ATTACH_OUTPUT_MAX);
}

static void go(struct attach *a, bool complete)
{
	if (a->gone)
		return;
	a->gone = true;
	uv_poll_stop(&a->poll);
	if (a->pty)
		pty_want_output(a->pty, false);
	a->handlers->gone(a->data, complete);
}

/* False where the client is gone. */
static bool flush(struct attach *a)
{
	while (waiting(a) > 0) {
		ssize_t n = send(a->fd, a->output.data + a->offset, waiting(a), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0) {
			go(a, false);
			return false;
		}
		a->offset += n;
	}
	a->output.len = a->offset = 0;
	if (a->exiting) {
		shutdown(a->fd, SHUT_WR);
		go(a, true);
		return false;
	}
	return true;
}

/* One frame from as many reads as fill it: the kernel gives at most 4 KiB of a pty at a time. Returns the payload's
 * size, -EAGAIN, 0 at the end, -ENOMEM. */
static ssize_t append_output(struct attach *a)
{
	size_t start, len = 0;
	ssize_t n = 0;
	int r;

	if (a->offset > 0) {
		buffer_consume(&a->output, a->offset);
		a->offset = 0;
	}
	r = buffer_reserve(&a->output, STREAM_HEADER + LIMIT_FRAME);
	if (r < 0)
		return r;
	start = a->output.len;
	while (len < LIMIT_FRAME) {
		n = pty_read(a->pty, a->output.data + start + STREAM_HEADER + len, LIMIT_FRAME - len);
		if (n <= 0)
			break;
		len += n;
	}
	if (len == 0)
		return n;
	stream_header(STREAM_STDOUT, len, (uint8_t *)a->output.data + start);
	a->output.len += STREAM_HEADER + len;
	a->total += len;
	return (ssize_t)len;
}

void attach_pty_readable(struct attach *a)
{
	size_t moved = 0;

	while (!a->gone && !a->exiting && !a->pty_ended && moved < TURN_MAX && waiting(a) < ATTACH_OUTPUT_MAX) {
		ssize_t n = append_output(a);

		if (n == 0) {
			a->pty_ended = true;
			watch(a);
			a->handlers->drained(a->data);
			return;
		}
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			go(a, false);
			return;
		}
		moved += n;
		if (!flush(a))
			return;
	}
	watch(a);
}

void attach_pty_writable(struct attach *a)
{
	watch(a);
}

static int handle_frame(struct attach *a, const struct stream_frame *f)
{
	switch (f->type) {
	case STREAM_STDIN:
		if (a->input_closed)
			return -EBADMSG;
		if (f->len > 0)
			return pty_write(a->pty, f->payload, f->len);
		a->input_closed = true;
		return pty_write_eof(a->pty);
	case STREAM_RESIZE:
		/* The slave may be gone by now: nothing to resize. */
		pty_resize(a->pty, stream_u16(f->payload), stream_u16(f->payload + 2));
		return 0;
	case STREAM_SIGNAL:
		if (stream_u32(f->payload) == 0 || stream_u32(f->payload) > 64)
			return -EBADMSG;
		a->handlers->signal(a->data, stream_u32(f->payload));
		return 0;
	case STREAM_CONTINUE:
		a->handlers->resume(a->data);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Frames that came before the pty stay in the buffer. */
static bool parse_input(struct attach *a)
{
	size_t done = 0;

	while (a->pty && !a->gone && !a->exiting && done < a->input.len) {
		struct stream_frame f;
		long n = stream_parse((const uint8_t *)a->input.data + done, a->input.len - done, &f);

		if (n == 0)
			break;
		if (n < 0 || handle_frame(a, &f) < 0) {
			go(a, false);
			return false;
		}
		done += n;
	}
	buffer_consume(&a->input, done);
	return !a->gone;
}

static void read_input(struct attach *a)
{
	size_t moved = 0;

	while (takes_input(a) && moved < TURN_MAX) {
		ssize_t n;

		if (buffer_reserve(&a->input, INPUT_MAX - a->input.len) < 0) {
			go(a, false);
			return;
		}
		n = read(a->fd, a->input.data + a->input.len, INPUT_MAX - a->input.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			go(a, false);
			return;
		}
		a->input.len += n;
		moved += n;
		if (!parse_input(a))
			return;
	}
	watch(a);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct attach *a = poll->data;

	if (status < 0) {
		go(a, false);
		return;
	}
	if (events & UV_WRITABLE) {
		if (!flush(a))
			return;
		watch(a);
	}
	if (events & UV_READABLE)
		read_input(a);
	else if (events & UV_DISCONNECT)
		go(a, false);
}

void attach_set_pty(struct attach *a, struct pty *pty)
{
	a->pty = pty;
	if (pty && parse_input(a))
		watch(a);
}

void attach_stopped(struct attach *a, uint32_t signal)
{
	/* Without room the client does not read; it will not act on this either. */
	if (a->gone || a->exiting || stream_append_u32(&a->output, STREAM_STOPPED, signal) < 0)
		return;
	if (flush(a))
		watch(a);
}

static const uint32_t late_of[LATE_KIND_END] = {
	[LATE_PLANTED] = STREAM_LATE_PLANTED,
	[LATE_RUNS] = STREAM_LATE_RUNS,
	[LATE_MORE] = STREAM_LATE_MORE,
	[LATE_LACKING] = STREAM_LATE_LACKING,
};

static int append_late(struct attach *a, const struct late_event *event)
{
	char text[LATE_LACK_TEXT_MAX];

	if (event->kind != LATE_LACKING)
		return stream_append_late(&a->output, late_of[event->kind], 1, event->path, event->path_len);
	late_lack_text(event, text);
	return stream_append_late(&a->output, late_of[event->kind], 1, text, strnlen(text, LIMIT_PATH));
}

bool attach_tells_late(uint32_t kind)
{
	return late_of[kind] != 0;
}

void attach_late(struct attach *a, const struct late_event *event)
{
	uint32_t class = UINT32_C(1) << late_event_class(event->kind, event->group);

	if (a->gone || a->exiting || !attach_tells_late(event->kind))
		return;
	/* The audit log has all of them; here they are counted when there are many, but for the first of a class, or
	 * when the client does not read. */
	if (event->kind == LATE_MORE)
		a->untold += event->count;
	else if ((a->told >= ATTACH_LATE_MAX && a->told_classes & class) || waiting(a) >= ATTACH_OUTPUT_MAX ||
		 append_late(a, event) < 0)
		a->untold++;
	else {
		a->told++;
		a->told_classes |= class;
	}
	if (flush(a))
		watch(a);
}

void attach_exit(struct attach *a, uint32_t kind, uint32_t value)
{
	if (a->gone || a->exiting)
		return;
	if (a->untold > 0 && stream_append_late(&a->output, STREAM_LATE_MORE, a->untold, "", 0) < 0) {
		go(a, false);
		return;
	}
	if (stream_append_u32_u32(&a->output, STREAM_EXIT, kind, value) < 0) {
		go(a, false);
		return;
	}
	a->exiting = true;
	if (flush(a))
		watch(a);
}

bool attach_is_behind(const struct attach *a)
{
	return waiting(a) >= ATTACH_OUTPUT_MAX;
}

uint64_t attach_total(const struct attach *a)
{
	return a->total;
}

int attach_open(uv_loop_t *loop, int client, const struct attach_handlers *handlers, void *data, struct attach **ret)
{
	struct attach *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	r = fd_set_nonblock(client, true);
	if (r == 0)
		r = uv_poll_init(loop, &a->poll, client);
	if (r < 0) {
		free(a);
		return r;
	}
	a->poll.data = a;
	a->fd = client;
	a->input.max = INPUT_MAX;
	a->output.max = OUTPUT_ROOM;
	a->handlers = handlers;
	a->data = data;
	watch(a);
	*ret = a;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct attach *a = handle->data;

	buffer_done(&a->input);
	buffer_done(&a->output);
	free(a);
}

void attach_close(struct attach *a)
{
	if (!a)
		return;
	a->gone = true;
	if (a->pty)
		pty_want_output(a->pty, false);
	uv_close((uv_handle_t *)&a->poll, on_closed);
	a->fd = fd_close(a->fd);
}
