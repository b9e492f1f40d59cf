#ifndef ISOD_SESSION_GATEWAY_SOCKS_REQUEST_H
#define ISOD_SESSION_GATEWAY_SOCKS_REQUEST_H
/* SOCKS as a connection's way to say what it wants; the state's step is socks_step(). */
#include "daemon/session/gateway/connection.h"
#include "daemon/session/gateway/socks_message.h"

/* Do the bytes in .in begin so? There is at least one. */
bool socks_is_first(const struct connection *c);
/* A step: from CONNECTION_REQUEST to CONNECTION_SOCKS. */
bool socks_begin(struct connection *c);
/* The refusal in the form that the client waits for. Returns its length. */
size_t socks_refusal(const struct connection *c, uint8_t ret[SOCKS_REPLY_LEN]);

#endif
