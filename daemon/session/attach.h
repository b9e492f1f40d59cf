#ifndef ISOD_SESSION_ATTACH_H
#define ISOD_SESSION_ATTACH_H
/* One client of a session: frames of proto/stream.h on its socket, both ways, each bounded. Who may do what is
 * terminal.h's. */
#include <stdbool.h>
#include <uv.h>

#include "daemon/wire/late.h"
#include "proto/stream.h"

struct attach;

/* Bytes that may wait for the client before its owner gives it no more. */
#define ATTACH_OUTPUT_MAX (256U << 10)

/* Paths of late files that a client is told. */
#define ATTACH_LATE_MAX 64

struct attach_handlers {
	/* A frame of the client. Negative: it is no client; it is closed. */
	int (*frame)(void *data, const struct stream_frame *f);
	/* Is a frame wanted now? Asked before each; where the answer changes call attach_update(). */
	bool (*takes_frame)(void *data);
	/* Some of what waited was sent. */
	void (*sent)(void *data);
	/* The client is gone or broke the protocol, or has taken the last frame. Once; close it. */
	void (*gone)(void *data, bool complete);
};

/* Takes client over. 0 or -errno. */
int attach_open(uv_loop_t *loop, int client, const struct attach_handlers *handlers, void *data, struct attach **ret);
/* Freed once the handle is closed. NULL is allowed. */
void attach_close(struct attach *a);

/* What takes_frame() says may have changed: handles what waits. */
void attach_update(struct attach *a);

/* Queues at most LIMIT_FRAME bytes of output (STREAM_STDOUT, STREAM_STDERR) and sends what the socket takes. The owner
 * looks at attach_waiting() before: above ATTACH_OUTPUT_MAX this fails. A failure ends the client: gone() follows. */
void attach_output(struct attach *a, uint8_t type, const void *data, size_t n);
/* Frames that say something about the session; not queued where the client does not read. */
void attach_tell(struct attach *a, uint8_t type, uint32_t first, uint32_t second);
void attach_tell_size(struct attach *a, uint16_t rows, uint16_t columns);
void attach_stopped(struct attach *a, uint32_t signal);
/* For the client's list at the end of a run: what was made inside and runs on the host, what the
 * session lacks. Other kinds are passed over. */
void attach_late(struct attach *a, const struct late_event *event);
/* kind: enum late_kind. False: it is one of those. */
bool attach_tells_late(uint32_t kind);
/* The last frame, EXIT or DETACHED; output after it is dropped. gone() follows when it is written. */
void attach_exit(struct attach *a, uint32_t kind, uint32_t value);
void attach_detached(struct attach *a, enum stream_detached reason);
/* Whether the last frame is queued. */
bool attach_is_ending(const struct attach *a);
size_t attach_waiting(const struct attach *a);

#endif
