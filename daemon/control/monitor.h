#ifndef ISOD_CONTROL_MONITOR_H
#define ISOD_CONTROL_MONITOR_H
/* The channel to isod (daemon/wire/control_wire.h). Its end, or a message that does not fit, ends isod-control. */
#include <sys/queue.h>
#include <uv.h>

#include "base/fd_pass.h"
#include "daemon/wire/control_wire.h"

struct control;

struct monitor_packet {
	STAILQ_ENTRY(monitor_packet) link; /* monitor.queue */
	struct control_message message;
	int fds[FD_PASS_MAX];
	size_t n_fds;
};

struct monitor {
	struct control *control;
	int fd;
	uv_poll_t poll;
	STAILQ_HEAD(monitor_queue, monitor_packet) queue; /* not yet taken by the socket */
	size_t n_queued;
	int failed; /* -errno that ended the channel; the loop was stopped */
};

int monitor_open(struct monitor *m, struct control *control, int fd);
void monitor_close(struct monitor *m);
void monitor_done(struct monitor *m);

/* Sends, or queues, one message. The descriptors are duplicated where they must wait: the caller keeps its own. */
int monitor_send(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
int monitor_send_kill(struct monitor *m, const char *id);
int monitor_send_session_done(struct monitor *m, const char *id);
int monitor_send_peer_done(struct monitor *m, uint64_t connection);

#endif
