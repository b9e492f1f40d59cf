#ifndef ISOD_TEST_SESSION_DRIVER_H
#define ISOD_TEST_SESSION_DRIVER_H
/* The real isod-session between a pretended isod-control and a pretended pid 1, with listeners on loopback. */
#include <netinet/in.h>
#include <sys/types.h>

#include "daemon/wire/context.h"
#include "daemon/wire/link_wire.h"
#include "daemon/wire/session_wire.h"
#include "policy/egress.h"

struct driver {
	pid_t pid;
	int control; /* our ends, with a time-out of 10 s for receiving */
	int link;
	struct sockaddr_in6 address[LISTENER_COUNT]; /* of the listeners; IPv4 ones are struct sockaddr_in */
};

/* flags: enum session_context_flags; the Landlock one is added where the kernel has it. Fails the test on any error. */
void driver_start(struct driver *d, const struct egress_rules *rules, unsigned flags);
/* Makes the nine listeners and sends LINK_LISTENERS. */
void driver_listen(struct driver *d);
void driver_link_send(struct driver *d, const struct link_message *m, int fd);
void driver_link_receive(struct driver *d, struct link_message *ret);
void driver_control_send(struct driver *d, uint32_t type, uint32_t kind, int32_t value, int fd);
/* The next packet that says no usage, which depends on the time: its type; 0 at the end of file. */
union driver_event {
	uint32_t type;
	struct session_status status;
	struct session_connection connection;
	struct session_usage usage;
};
uint32_t driver_event(struct driver *d, union driver_event *ret);
/* Waits for the process: its wait status. Closes our ends. */
int driver_wait(struct driver *d);

#endif
