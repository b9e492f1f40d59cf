#ifndef ISOD_CLIENT_STANDARD_FDS_H
#define ISOD_CLIENT_STANDARD_FDS_H

/* Opens /dev/null on each of 0, 1, 2 that is closed, so that nothing opened later is taken for stdio. 0 or -errno. */
int standard_fds_open(void);

/* What stdio still holds, out: text that a command printed and nobody got is a failure. Returns the exit code. */
int standard_fds_finish(int code);

#endif
