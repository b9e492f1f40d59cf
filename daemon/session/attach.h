#ifndef ISOD_SESSION_ATTACH_H
#define ISOD_SESSION_ATTACH_H
/* One client of the session's pty: frames of proto/stream.h on its socket, raw bytes on the pty. */
#include <stdbool.h>
#include <uv.h>

#include "daemon/session/pty.h"
#include "daemon/wire/late.h"

struct attach;

/* Bytes that may wait for the client before the pty is read no further. */
#define ATTACH_OUTPUT_MAX (256U << 10)

/* Paths of late files that a client is told. */
#define ATTACH_LATE_MAX 64

struct attach_handlers {
	void (*signal)(void *data, uint32_t signal);
	void (*resume)(void *data);
	/* All output was handed over, no slave is open. Once. */
	void (*drained)(void *data);
	/* The client is gone or broke the protocol, or has taken the last frame after attach_exit(). Once; close it. */
	void (*gone)(void *data, bool complete);
};

/* Takes client over. 0 or -errno. */
int attach_open(uv_loop_t *loop, int client, const struct attach_handlers *handlers, void *data, struct attach **ret);
/* Freed once the handle is closed. NULL is allowed. */
void attach_close(struct attach *a);

/* The pty that came before or comes after the client; pty handlers are the caller's: it passes on the two below. */
void attach_set_pty(struct attach *a, struct pty *pty);
void attach_pty_readable(struct attach *a);
void attach_pty_writable(struct attach *a);

void attach_stopped(struct attach *a, uint32_t signal);
/* For the client's list at the end of a run: what was made inside and runs on the host, what the
 * session lacks. Other kinds are passed over. */
void attach_late(struct attach *a, const struct late_event *event);
/* kind: enum late_kind. False: it is one of those. */
bool attach_tells_late(uint32_t kind);
/* The last frame; output after it is dropped. gone() follows when it is written. */
void attach_exit(struct attach *a, uint32_t kind, uint32_t value);
/* True where output waits for the client, not the client for output. */
bool attach_is_behind(const struct attach *a);
/* Bytes of output taken from the pty so far: progress. */
uint64_t attach_total(const struct attach *a);

#endif
