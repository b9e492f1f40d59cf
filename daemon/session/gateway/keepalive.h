#ifndef ISOD_SESSION_GATEWAY_KEEPALIVE_H
#define ISOD_SESSION_GATEWAY_KEEPALIVE_H
/* A peer that has gone without a word is found by the kernel, so that no live connection needs a limit of ours. */

/* Asks after a minute of silence, and gives the peer up after three. Best effort. */
void keepalive_set(int fd);

#endif
