#include "daemon/session/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/session/cast.h"
#include "daemon/wire/session_wire.h"

#define FLUSH_MS 1000
/* Bytes of one event's text: a longer one is written as several. */
#define PIECE 16384
/* Of the file and of the buffer, for the marker that says what is missing. */
#define RESERVE 256
/* A terminal that has said nothing. */
#define ROWS 24
#define COLUMNS 80

struct record {
	uv_work_t work;
	uv_timer_t timer;
	int fd;
	uint64_t max;
	uint64_t taken; /* bytes that were written or wait */
	uint64_t start; /* nanoseconds, CLOCK_MONOTONIC */
	int64_t unix_time;
	uint16_t rows, columns;
	bool begun; /* the header is in a buffer */
	bool input;
	bool writing; /* .out is the thread's */
	bool ended;   /* cut, or a write has failed */
	bool behind;  /* it was told */
	bool closed;
	bool timer_closed;
	int err; /* of the thread's write */
	uint64_t lost;
	struct cast_text output_text, input_text;
	struct buffer waiting, out;
	char title[32 + ISOD_ID_LEN];
	char marker[64];
	record_tell_fn *tell;
	void *data;
	void (*flushed)(void *data);
	void *flushed_data;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static uint64_t at_us(const struct record *r)
{
	return (now_ns() - r->start) / 1000;
}

static void tell(struct record *r, uint32_t state, int err)
{
	if (r->tell)
		r->tell(r->data, state, err);
}

static void say_flushed(struct record *r)
{
	void (*done)(void *) = r->flushed;

	r->flushed = NULL;
	uv_timer_stop(&r->timer);
	if (done)
		done(r->flushed_data);
}

static void free_closed(struct record *r)
{
	/* The thread's buffer is given back when the thread is done; a write that hangs keeps it until the end. */
	if (!r->timer_closed || r->writing)
		return;
	fd_close(r->fd);
	buffer_done(&r->waiting);
	buffer_done(&r->out);
	free(r);
}

static void write_out(uv_work_t *work)
{
	struct record *r = work->data;

	r->err = fd_write_full(r->fd, r->out.data, r->out.len);
}

static void begin_write(struct record *r);

static void on_written(uv_work_t *work, int status)
{
	struct record *r = work->data;

	(void)status;
	r->writing = false;
	r->out.len = 0;
	if (r->closed) {
		free_closed(r);
		return;
	}
	if (r->err < 0) {
		log_warning("the recording ends here: %s", strerror(-r->err));
		r->ended = true;
		r->waiting.len = 0;
		tell(r, RECORD_FAILED, -r->err);
	}
	begin_write(r);
	if (!r->writing)
		say_flushed(r);
}

static void begin_write(struct record *r)
{
	struct buffer full = r->waiting;

	if (r->writing || full.len == 0)
		return;
	r->waiting = r->out;
	r->out = full;
	r->writing = uv_queue_work(r->work.loop, &r->work, write_out, on_written) == 0;
	if (!r->writing) {
		r->out.len = 0;
		r->ended = true;
		tell(r, RECORD_FAILED, ENOMEM);
	}
}

/* Whether the file is at its end now; the marker has room of its own. */
static bool cut(struct record *r, uint64_t before)
{
	uint64_t size = r->taken + (r->waiting.len - before);
	char label[RESERVE / 2];

	if (size + RESERVE <= r->max) {
		r->taken = size;
		return false;
	}
	r->waiting.len = before;
	r->waiting.max += RESERVE;
	snprintf(label, sizeof(label), "isod: the recording is cut here, it may have %" PRIu64 " bytes", r->max);
	(void)cast_marker(&r->waiting, at_us(r), label);
	r->ended = true;
	log_info("the recording has reached its size of %" PRIu64 " bytes", r->max);
	tell(r, RECORD_CUT, 0);
	return true;
}

/* The header, and what was left out before. False where there is no room for more. */
static bool make_ready(struct record *r)
{
	char label[RESERVE / 2];
	size_t before = r->waiting.len;

	if (!r->begun) {
		if (cast_header(&r->waiting, r->rows, r->columns, r->unix_time, r->title) < 0)
			return false;
		r->begun = true;
		if (r->marker[0])
			(void)cast_marker(&r->waiting, at_us(r), r->marker);
		if (cut(r, before))
			return false;
		before = r->waiting.len;
	}
	if (r->lost == 0)
		return true;
	/* Half of the buffer must be free again: else there would be a marker for each event that finds room. */
	if (r->waiting.len > LIMIT_RECORD_BUFFER / 2)
		return false;
	snprintf(label, sizeof(label), "isod: %" PRIu64 " bytes are missing here, the disk was too slow", r->lost);
	if (cast_marker(&r->waiting, at_us(r), label) < 0)
		return false;
	r->lost = 0;
	return !cut(r, before);
}

static void lose(struct record *r, size_t n)
{
	r->lost += n;
	if (r->behind)
		return;
	r->behind = true;
	log_warning("the disk of the recording is too slow: parts of it are missing");
	tell(r, RECORD_BEHIND, 0);
}

static void add_text(struct record *r, struct cast_text *text, char kind, const char *data, size_t n)
{
	if (!r || r->ended || r->closed)
		return;
	for (size_t done = 0; done < n && !r->ended;) {
		size_t piece = n - done < PIECE ? n - done : PIECE, before;

		if (!make_ready(r)) {
			if (!r->ended)
				lose(r, n - done);
			break;
		}
		before = r->waiting.len;
		if (cast_append(&r->waiting, text, at_us(r), kind, data + done, piece) < 0) {
			lose(r, n - done);
			break;
		}
		cut(r, before);
		done += piece;
	}
	begin_write(r);
}

void record_output(struct record *r, const void *data, size_t n)
{
	if (r)
		add_text(r, &r->output_text, 'o', data, n);
}

void record_input(struct record *r, const void *data, size_t n)
{
	if (r && r->input)
		add_text(r, &r->input_text, 'i', data, n);
}

void record_size(struct record *r, uint16_t rows, uint16_t columns)
{
	size_t before;

	if (!r || r->ended || r->closed || rows == 0 || columns == 0 || (rows == r->rows && columns == r->columns))
		return;
	r->rows = rows;
	r->columns = columns;
	if (!r->begun || !make_ready(r))
		return;
	before = r->waiting.len;
	if (cast_resize(&r->waiting, at_us(r), rows, columns) == 0)
		cut(r, before);
	begin_write(r);
}

void record_marker(struct record *r, const char *format, ...)
{
	char label[RECORD_MARKER_MAX];
	va_list arguments;
	size_t before;

	if (!r || r->ended || r->closed)
		return;
	va_start(arguments, format);
	vsnprintf(label, sizeof(label), format, arguments);
	va_end(arguments);
	if (!make_ready(r)) {
		if (!r->ended)
			lose(r, strlen(label));
		return;
	}
	before = r->waiting.len;
	if (cast_marker(&r->waiting, at_us(r), label) < 0)
		lose(r, strlen(label));
	else
		cut(r, before);
	begin_write(r);
}

static void on_flush_timeout(uv_timer_t *timer)
{
	struct record *r = timer->data;

	log_warning("the end of the recording is not on its disk yet, and nobody waits any longer");
	say_flushed(r);
}

static void on_idle(uv_timer_t *timer)
{
	say_flushed(timer->data);
}

void record_flush(struct record *r, void (*done)(void *data), void *data)
{
	if (!r) {
		done(data);
		return;
	}
	r->flushed = done;
	r->flushed_data = data;
	if (!r->ended && make_ready(r)) {
		(void)cast_append_rest(&r->waiting, &r->output_text, at_us(r), 'o');
		(void)cast_append_rest(&r->waiting, &r->input_text, at_us(r), 'i');
	}
	begin_write(r);
	if (r->writing)
		uv_timer_start(&r->timer, on_flush_timeout, FLUSH_MS, 0);
	else
		uv_timer_start(&r->timer, on_idle, 0, 0);
}

int record_open(uv_loop_t *loop, const struct record_options *options, record_tell_fn *tell_fn, void *data,
		struct record **ret)
{
	struct record *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = uv_timer_init(loop, &r->timer);
	if (err < 0) {
		free(r);
		return err;
	}
	/* A recording alone keeps nothing alive. */
	r->timer.data = r->work.data = r;
	r->work.loop = loop;
	r->fd = options->fd;
	r->max = options->max;
	r->input = options->input;
	r->rows = ROWS;
	r->columns = COLUMNS;
	r->start = now_ns();
	r->unix_time = time(NULL);
	r->waiting.max = r->out.max = LIMIT_RECORD_BUFFER;
	r->tell = tell_fn;
	r->data = data;
	snprintf(r->title, sizeof(r->title), "isod session %s", options->id);
	snprintf(r->marker, sizeof(r->marker), "%s", options->marker ? options->marker : "");
	*ret = r;
	return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct record *r = handle->data;

	r->timer_closed = true;
	free_closed(r);
}

void record_close(struct record *r)
{
	if (!r || r->closed)
		return;
	r->closed = true;
	r->flushed = NULL;
	uv_close((uv_handle_t *)&r->timer, on_timer_closed);
}
