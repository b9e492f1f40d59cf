#ifndef ISOD_SESSION_CONTROL_H
#define ISOD_SESSION_CONTROL_H
/* The channel to isod-control (daemon/wire/session_wire.h): its orders in, the queued events out. */
#include <stdbool.h>
#include <uv.h>

#include "daemon/session/events.h"
#include "policy/egress.h"

struct control;

struct control_handlers {
	/* client is close-on-exec and becomes the handler's. flags: enum session_attach_flags. */
	void (*attach)(void *data, int client, unsigned flags, uint16_t rows, uint16_t columns);
	/* The pipe of stdout or stderr, to read; taken over on success. 0 or -errno: the channel ends. */
	int (*output)(void *data, int pipe, bool is_stderr);
	void (*signal)(void *data, int32_t signal);
	void (*ending)(void *data, uint32_t kind, int32_t value);
	/* rules, with their generation set, become the handler's. */
	void (*rules)(void *data, struct egress_rules *rules);
	/* To a question of this session's: enum session_answer. */
	void (*answer)(void *data, uint32_t number, uint32_t answer);
	/* Every queued event was sent. May come at any time, more than once. */
	void (*flushed)(void *data);
	/* Once: end of file (err 0), a malformed message or a failed call. Nothing comes after it. */
	void (*ended)(void *data, int err);
};

/* Takes fd over. 0 or -errno. */
int control_open(uv_loop_t *loop, int fd, const struct control_handlers *handlers, void *data, struct control **ret);
/* The event queue's wake function; data is the struct control. */
void control_wake(void *data);
struct events *control_events(struct control *c);
void control_close(struct control *c);
/* After control_close(), once the loop has run out: events may be queued until then, they go nowhere. */
void control_free(struct control *c);

#endif
