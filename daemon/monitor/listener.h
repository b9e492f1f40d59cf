#ifndef ISOD_MONITOR_LISTENER_H
#define ISOD_MONITOR_LISTENER_H
/* The socket that clients connect to. */
#include <stdbool.h>
#include <uv.h>

#include "base/error.h"

struct listener {
	uv_poll_t poll;
	uv_timer_t pause; /* after accept(2) failed for want of something */
	int fd;
	const char *path; /* NULL where systemd owns the socket */
	bool wanted;
	void (*on_connection)(struct listener *, int fd); /* takes fd: non-blocking, close-on-exec */
	void *owner;
};

/*
 * Binds path, mode 0666 from its first moment (any local uid may connect; who it is comes from the kernel). A socket
 * left behind by a dead isod is replaced, one that somebody answers on is not: -EADDRINUSE. Returns the descriptor.
 */
int listener_bind(const char *path, struct error *e);

/* The socket that systemd hands over: environment LISTEN_PID, LISTEN_FDS, descriptor 3. Returns it, or -ENOENT where
 * there is none. */
int listener_inherit(struct error *e);

/* Takes fd. Nothing is accepted before listener_accept(true). 0 or -errno. */
int listener_open(struct listener *l, uv_loop_t *loop, int fd, const char *path);
/* Starts or stops accepting; who connects meanwhile waits in the queue of the kernel. */
void listener_accept(struct listener *l, bool on);
/* Closes the handles (run the loop afterwards) and removes the path. */
void listener_close(struct listener *l);

#endif
