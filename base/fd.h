#ifndef ISOD_BASE_FD_H
#define ISOD_BASE_FD_H
/* Descriptors. All return 0 or a value, or -errno. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

int fd_set_cloexec(int fd, bool on);
int fd_set_nonblock(int fd, bool on);

/* Reads until n bytes or end of file; returns the number read. */
ssize_t fd_read_full(int fd, void *data, size_t n);
/* Writes all n bytes or fails. EAGAIN is an error: for blocking descriptors. */
int fd_write_full(int fd, const void *data, size_t n);

/* A memory file with the given content, sealed against any change; position 0. Returns the descriptor. */
int fd_sealed_new(const char *name, const void *data, size_t n);
/*
 * Maps a sealed memory file read-only. Refuses one that lacks a seal (F_SEAL_WRITE, SHRINK, GROW, SEAL), is empty or
 * is larger than max: -EPERM, -ENODATA, -EMSGSIZE. The caller munmap()s *ret.
 */
int fd_sealed_map(int fd, size_t max, const void **ret, size_t *ret_len);

/* Reads a whole file of at most max bytes into a terminated heap string; *ret_len excludes the NUL. -EFBIG beyond. */
int fd_read_file(int fd, size_t max, char **ret, size_t *ret_len);

/*
 * True where opening /proc/self/fd/N again, or changing owner and mode through the descriptor, reaches nothing but the
 * stream itself: a pipe without a name, /dev/null. Not a fifo, which is a file of some folder; not a socket, which also
 * carries descriptors.
 */
bool fd_is_plain_stream(int fd);

/* Closes every descriptor >= from. */
int fd_close_from(int from);

#endif
