#ifndef ISOD_SESSION_GATEWAY_KEEPALIVE_H
#define ISOD_SESSION_GATEWAY_KEEPALIVE_H
/* A peer that has gone without a word is found by the kernel, so that no live connection needs a limit of ours. */

/* Asks after a minute of silence, and gives the peer up after three. Best effort. What a listener accepts inherits it.
 */
void keepalive_set(int fd);

struct gateway;
/* The gateway's own connections get it once they have lived for a minute, which most do not: four calls saved of each.
 * To be called with every connection. */
void keepalive_soon(struct gateway *g);

#endif
