#ifndef ISOD_SESSION_PEER_UID_H
#define ISOD_SESSION_PEER_UID_H
/* Which user of this machine has the other end of a TCP connection that was accepted on its loopback. */
#include <stdint.h>

/* 0; -ESRCH: nobody has it, since it was closed meanwhile; or -errno. */
int peer_uid(int fd, uint32_t *ret);

#endif
