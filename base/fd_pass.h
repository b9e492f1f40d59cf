#ifndef ISOD_BASE_FD_PASS_H
#define ISOD_BASE_FD_PASS_H
/* One message with descriptors over a Unix socket. */
#include <stddef.h>
#include <sys/types.h>

#define FD_PASS_MAX 16

/* Sends n bytes and n_fds descriptors as one message. MSG_NOSIGNAL. 0, or -errno (-EAGAIN on a full non-blocking one).
 * On a stream socket fewer bytes may be taken; the count is returned then. */
ssize_t fd_pass_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds);

/*
 * Receives one message. Returns its length, 0 at end of file and for an empty packet, -errno; -EMSGSIZE where it was
 * cut (data or descriptors). No descriptor is left open then, and -1 stands for each. *n_fds: room on entry, received
 * on return; they are close-on-exec and the caller's.
 */
ssize_t fd_pass_receive(int sock, void *data, size_t n, int *fds, size_t *n_fds);

#endif
