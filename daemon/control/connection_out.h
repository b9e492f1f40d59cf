#ifndef ISOD_CONTROL_CONNECTION_OUT_H
#define ISOD_CONTROL_CONNECTION_OUT_H
/* The sending half of a connection: connection.c and connection_out.c only. */
#include "daemon/control/connection.h"

void connection_out_init(struct connection *c);
/* Writes what the socket takes. 0 or -errno. */
int connection_write(struct connection *c);
/* Writes, then does what waited for it: may drop or lend the connection. */
void connection_flush(struct connection *c);

#endif
