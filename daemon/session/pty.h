#ifndef ISOD_SESSION_PTY_H
#define ISOD_SESSION_PTY_H
/* The master side of the session's pty. Bytes pass untouched in both directions; each direction waits for the other
 * end of it. */
#include <stdbool.h>
#include <uv.h>

#include "base/buffer.h"

struct pty;
struct record;

/* Above so many bytes that wait for the program, no more is taken from the client. A quarter of a MiB, not a few KiB:
 * resize and signal frames stand behind this much input at most. */
#define PTY_INPUT_MAX (256U << 10)

struct pty_handlers {
	/* Output may be there: call pty_read(). */
	void (*readable)(void *data);
	/* The input queue has room again. */
	void (*writable)(void *data);
};

/* Takes master over. Nothing is read before pty_want_output(). 0 or -errno. */
int pty_open(uv_loop_t *loop, int master, const struct pty_handlers *handlers, void *data, struct pty **ret);
/* Closes the master now (the program's terminal hangs up). Freed once the handle is closed. NULL is allowed. */
void pty_close(struct pty *p);

/* Whether readable() is wanted; off is what keeps output in the kernel until somebody takes it. */
void pty_want_output(struct pty *p, bool want);
/* Up to n bytes: their number, -EAGAIN, or 0 at the end: every slave descriptor is closed and all output was read. */
ssize_t pty_read(struct pty *p, void *data, size_t n);

/* Queues input; the caller asks pty_input_room() first, but a whole frame is always taken. 0 or -ENOMEM, -EMSGSIZE. */
int pty_write(struct pty *p, const void *data, size_t n);
bool pty_input_room(const struct pty *p);
/* Queues end of file: VEOF of the line discipline, twice where the line has begun. */
int pty_write_eof(struct pty *p);
/* What passes from now on is recorded; NULL: no more. Not owned. */
void pty_record(struct pty *p, struct record *record);
int pty_resize(struct pty *p, uint16_t rows, uint16_t columns);
/* 0, 0 where nobody has set one. */
void pty_size(const struct pty *p, uint16_t *rows, uint16_t *columns);

#endif
