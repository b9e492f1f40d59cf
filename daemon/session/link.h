#ifndef ISOD_SESSION_LINK_H
#define ISOD_SESSION_LINK_H
/* The channel to isod-launch and, after it, pid 1 of the session (daemon/wire/link_wire.h). */
#include <uv.h>

#include "daemon/wire/late.h"
#include "daemon/wire/link_wire.h"

struct link;
struct owners;

/* Called from the loop. Descriptors are close-on-exec and become the handler's. */
struct link_handlers {
	void (*listeners)(void *data, const int fds[LISTENER_COUNT]);
	void (*pty)(void *data, int master);
	void (*agent)(void *data, uint32_t type, int listener);         /* LINK_SSH or LINK_GPG */
	void (*status)(void *data, const struct link_message *message); /* STARTED, STOPPED, CONTINUED, EXITED */
	/* Once: end of file (err 0) or a malformed message or failed call (negative errno). Nothing comes after it. */
	void (*ended)(void *data, int err);
	void (*late)(void *data, const struct late_event *event);              /* checked */
	void (*port)(void *data, int listener, uint32_t way, uint16_t to);     /* enum plan_port_way */
	void (*socket)(void *data, uint32_t query, int fd);                    /* -errno: none could be made */
	void (*unix_socket)(void *data, const struct link_message *m, int fd); /* LINK_CONNECTOR, LINK_UNIX */
};

/* Takes fd over. 0 or -errno. */
int link_open(uv_loop_t *loop, int fd, const struct link_handlers *handlers, void *data, struct link **ret);
/* Closes the descriptor now: pid 1 sees the end. Open questions (owner.h) are dropped unanswered. */
void link_close(struct link *l);
/* After link_close(), once the loop has run out: owner_forget() may come until then. NULL is allowed. */
void link_free(struct link *l);

/* Queues a message without descriptors. -ENOBUFS where too many wait for a pid 1 that does not read, -EPIPE. */
int link_send(struct link *l, const struct link_message *message);
/* A question that goes out with others of this turn of the loop, at its end. -EPIPE. */
int link_send_soon(struct link *l, const struct link_message *message);
/* With a descriptor, which stays the caller's. -EAGAIN where it would have to wait: it is not queued. */
int link_send_fd(struct link *l, const struct link_message *message, int fd);
int link_send_signal(struct link *l, uint32_t type, int32_t value);

/* For owner.c. */
struct owners *link_owners(struct link *l);

#endif
