#ifndef ISOD_LINUX_NET_LAUNCH_PUBLISH_H
#define ISOD_LINUX_NET_LAUNCH_PUBLISH_H
/* Ports of one loopback, the host's or the session's, that lead to the other one: listeners here and there, and sockets
 * for the far end inside. */
#include <stdint.h>

struct error;
struct launch;
struct link_message;

/* Outer process: makes the listeners of the plan's ports on 127.0.0.1 and, where the host has it, ::1, hands them to
 * isod-session (LINK_PORT) and tells isod (REPORT_PORT). ERROR_REFUSED where a port is taken. */
int launch_publish_listen(struct launch *l, struct error *e);

/* pid 1: makes the listeners of the namespace for ports of the host that are lent, and hands them over likewise. */
int launch_publish_lent(struct launch *l, struct error *e);

/* pid 1: answers LINK_SOCKET. 0, also where no socket could be made, which the answer says; -errno of the link;
 * -EBADMSG where another family is asked for. */
int launch_publish_socket(int link_fd, const struct link_message *asked);

#endif
