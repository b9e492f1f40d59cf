#ifndef ISOD_MONITOR_CONTROL_LINK_H
#define ISOD_MONITOR_CONTROL_LINK_H
/*
 * isod-control and the channel to it (daemon/wire/control_wire.h).
 *
 *   DOWN      no process. control_link_start(), or the timer after a death, leads to UP.
 *   UP        messages pass. A message that does not fit, or the end of the process or the channel, leads to FALLING.
 *   FALLING   it is being killed; its connections are gone, and with them the sessions that it has not kept (keep.h).
 * Its reaping leads to DOWN.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/monitor/child.h"
#include "daemon/wire/control_wire.h"

struct monitor;

/* Of CONTROL_ADOPT. */
#define CONTROL_SEND_FDS 3

struct control_packet {
	STAILQ_ENTRY(control_packet) link;
	struct control_message message;
	int fds[CONTROL_SEND_FDS]; /* owned */
	size_t n_fds;
};

enum control_state { CONTROL_DOWN, CONTROL_UP, CONTROL_FALLING };

struct control_link {
	struct monitor *monitor;
	enum control_state state;
	bool closing;
	struct child process;
	int fd;
	uv_poll_t poll;
	uv_timer_t restart;
	uint64_t backoff_ms;
	uint64_t started_ms; /* loop time */
	uint64_t generation; /* counts starts: a session belongs to one */
	unsigned n_queued;
	STAILQ_HEAD(, control_packet) queue; /* not yet taken by the socket */
};

int control_link_open(struct control_link *c, struct monitor *m);
/* 0 or -errno: the program is not there, no descriptors, ... */
int control_link_start(struct control_link *c);
/* Sends or queues one message and takes fd (-1 = none). Dropped where control is not up. */
void control_link_send(struct control_link *c, const struct control_message *message, int fd);
/* The same with several. */
void control_link_send_fds(struct control_link *c, const struct control_message *message, const int *fds, size_t n_fds);
/* It has lived for a while: what it was given does not kill it. */
bool control_link_was_well(const struct control_link *c);
/* Closes the handles; run the loop afterwards. */
void control_link_close(struct control_link *c);

#endif
