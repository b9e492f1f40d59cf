#ifndef ISOD_SESSION_GATEWAY_CAPTURE_H
#define ISOD_SESSION_GATEWAY_CAPTURE_H
/* Connections that the namespace's nft table has redirected to us: to where did the program mean to connect? */
#include "daemon/session/gateway/gateway_state.h"

int capture_original_target(int fd, int family, uint8_t ret_address[16], uint16_t *ret_port);

/* Judges (judge.h) a new connection by where it was meant to go, NULL where it was not redirected: c->target and
 * c->verdict. */
void capture_judge(struct connection *c, int family, const struct address_port *to,
		   void (*judge)(struct connection *c));
/* Judges a new connection and starts it. c may be gone afterwards. */
void capture_start(struct connection *c, int family, const struct address_port *to);

#endif
