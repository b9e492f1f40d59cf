#ifndef ISOD_SESSION_RECORD_H
#define ISOD_SESSION_RECORD_H
/*
 * The recording of a session (cast.h), into a file that its user has opened. A thread writes, so that a slow disk holds
 * up nothing: what finds no room meanwhile is left out, and a marker says how much. The file is bounded; the marker at
 * its end then says so. Logs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct record;

struct record_options {
	int fd;             /* a regular file, for appending only; taken over */
	uint64_t max;       /* bytes of the file */
	bool input;         /* what is typed is kept, too */
	const char *id;     /* of the session */
	const char *marker; /* the first one; NULL: none */
};

/* state: enum session_record_state of daemon/wire/session_wire.h, each at most once. err: errno of a write, or 0. */
typedef void record_tell_fn(void *data, uint32_t state, int err);

/* The clock starts here. tell may be NULL. 0 or -errno (the descriptor stays the caller's). */
int record_open(uv_loop_t *loop, const struct record_options *options, record_tell_fn *tell, void *data,
		struct record **ret);
/* NULL is allowed here and below. What has not been written by then is lost: record_flush() first. */
void record_close(struct record *r);
/* done is called once, from the loop: all that came before is written, or a second has passed, or nothing is written
 * any more. One at a time. */
void record_flush(struct record *r, void (*done)(void *data), void *data);

/* The size before the first output stands in the header; later ones are events. */
void record_size(struct record *r, uint16_t rows, uint16_t columns);
void record_output(struct record *r, const void *data, size_t n);
void record_input(struct record *r, const void *data, size_t n);
/* text: cut at RECORD_MARKER_MAX bytes. */
void record_marker(struct record *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define RECORD_MARKER_MAX 1024

#endif
