#ifndef ISOD_LINUX_LAUNCH_DIAG_H
#define ISOD_LINUX_LAUNCH_DIAG_H
/* Sockets of this network namespace by their two ends: sock_diag(7), one look-up instead of a read of /proc/net/tcp,
 * whose length everybody inside can drive up. */
#include <stddef.h>
#include <stdint.h>

struct link_message;

/* A netlink socket, or -errno. */
int launch_diag_open(void);
/* The inode of the connected TCP socket that m describes (LINK_WHO: its own end and the other), 0 where there is none.
 */
uint64_t launch_diag_inode(int fd, const struct link_message *m);
/* The same of n <= LINK_BATCH at once. */
void launch_diag_inodes(int fd, const struct link_message *m, size_t n, uint64_t *ret);

#endif
