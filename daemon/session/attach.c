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
	struct buffer input;
	struct buffer output;
	size_t offset;         /* of .output: written already */
	bool exiting;          /* the last frame is queued */
	unsigned told;         /* paths of late files */
	uint32_t told_classes; /* of which one was told, as bits */
	uint32_t untold;       /* others */
	bool gone;
	const struct attach_handlers *handlers;
	void *data;
};

static void on_poll(uv_poll_t *poll, int status, int events);

size_t attach_waiting(const struct attach *a)
{
	return a->output.len - a->offset;
}

bool attach_is_ending(const struct attach *a)
{
	return a->exiting || a->gone;
}

static bool takes_input(const struct attach *a)
{
	return !a->exiting && a->input.len < INPUT_MAX;
}

static void watch(struct attach *a)
{
	int events = UV_DISCONNECT;

	if (a->gone)
		return;
	if (takes_input(a))
		events |= UV_READABLE;
	if (attach_waiting(a) > 0)
		events |= UV_WRITABLE;
	uv_poll_start(&a->poll, events, on_poll);
}

static void go(struct attach *a, bool complete)
{
	if (a->gone)
		return;
	a->gone = true;
	uv_poll_stop(&a->poll);
	a->handlers->gone(a->data, complete);
}

/* False where the client is gone. */
static bool flush(struct attach *a)
{
	while (attach_waiting(a) > 0) {
		ssize_t n = send(a->fd, a->output.data + a->offset, attach_waiting(a), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0) {
			go(a, false);
			return false;
		}
		a->offset += (size_t)n;
	}
	a->output.len = a->offset = 0;
	if (a->exiting) {
		shutdown(a->fd, SHUT_WR);
		go(a, true);
		return false;
	}
	return true;
}

/* After something was queued, or could not be. */
static void queued(struct attach *a, int r)
{
	if (r < 0)
		go(a, false);
	else if (flush(a))
		watch(a);
}

void attach_output(struct attach *a, uint8_t type, const void *data, size_t n)
{
	if (a->gone || a->exiting)
		return;
	if (a->offset > 0) {
		buffer_consume(&a->output, a->offset);
		a->offset = 0;
	}
	queued(a, stream_append(&a->output, type, data, n));
}

/* Frames that nobody wants now stay in the buffer. */
static bool parse_input(struct attach *a)
{
	size_t done = 0;

	while (!a->gone && !a->exiting && done < a->input.len && a->handlers->takes_frame(a->data)) {
		struct stream_frame f;
		long n = stream_parse((const uint8_t *)a->input.data + done, a->input.len - done, &f);

		if (n == 0)
			break;
		if (n < 0 || a->handlers->frame(a->data, &f) < 0) {
			go(a, false);
			return false;
		}
		done += (size_t)n;
	}
	if (!a->gone)
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
		a->input.len += (size_t)n;
		moved += (size_t)n;
		if (!parse_input(a))
			return;
	}
	if (a->input.len == 0)
		buffer_done(&a->input);
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
		a->handlers->sent(a->data);
		if (a->gone)
			return;
	}
	if (events & UV_READABLE)
		read_input(a);
	else if (events & UV_DISCONNECT)
		go(a, false);
}

void attach_update(struct attach *a)
{
	if (!a->gone && parse_input(a))
		watch(a);
}

void attach_tell(struct attach *a, uint8_t type, uint32_t first, uint32_t second)
{
	if (!a->gone && !a->exiting && attach_waiting(a) < ATTACH_OUTPUT_MAX)
		queued(a, stream_append_u32_u32(&a->output, type, first, second));
}

void attach_tell_size(struct attach *a, uint16_t rows, uint16_t columns)
{
	if (!a->gone && !a->exiting && attach_waiting(a) < ATTACH_OUTPUT_MAX)
		queued(a, stream_append_u16_u16(&a->output, STREAM_SIZE, rows, columns));
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
	else if ((a->told >= ATTACH_LATE_MAX && a->told_classes & class) || attach_waiting(a) >= ATTACH_OUTPUT_MAX ||
		 append_late(a, event) < 0)
		a->untold++;
	else {
		a->told++;
		a->told_classes |= class;
	}
	if (flush(a))
		watch(a);
}

static void end(struct attach *a, int r)
{
	if (r < 0) {
		go(a, false);
		return;
	}
	a->exiting = true;
	if (flush(a))
		watch(a);
}

void attach_exit(struct attach *a, uint32_t kind, uint32_t value)
{
	int r = 0;

	if (a->gone || a->exiting)
		return;
	if (a->untold > 0)
		r = stream_append_late(&a->output, STREAM_LATE_MORE, a->untold, "", 0);
	end(a, r < 0 ? r : stream_append_u32_u32(&a->output, STREAM_EXIT, kind, value));
}

void attach_detached(struct attach *a, enum stream_detached reason)
{
	if (!a->gone && !a->exiting)
		end(a, stream_append_u32(&a->output, STREAM_DETACHED, reason));
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
	uv_close((uv_handle_t *)&a->poll, on_closed);
	a->fd = fd_close(a->fd);
}
