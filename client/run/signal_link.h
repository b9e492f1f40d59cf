#ifndef ISOD_CLIENT_SIGNAL_LINK_H
#define ISOD_CLIENT_SIGNAL_LINK_H
/* Signals on their way to a running session without a pty: Kill calls on a second connection, since the first one waits
 * for the end of Run. Opened with the first signal; answers are read and forgotten (the session may just have ended).
 */
#include "client/command.h"
#include "client/connection.h"

struct signal_link {
	struct connection connection;
};

#define SIGNAL_LINK_INIT                                                                                               \
	{                                                                                                              \
		.connection = CONNECTION_INIT                                                                          \
	}

int signal_link_send(struct signal_link *l, const struct client *client, const char *session, int64_t exec, int signal,
		     struct error *e);
/* When .connection.fd is readable. */
void signal_link_read(struct signal_link *l);
void signal_link_done(struct signal_link *l);

#endif
