#ifndef ISOD_CLIENT_TERMINAL_H
#define ISOD_CLIENT_TERMINAL_H
/*
 * The caller's terminal: raw while a pty session has it, and as it was on every way out: return, exit(), a fatal
 * signal; after SIGKILL by terminal_guard.h. One a process.
 */
#include <stdint.h>

/* fd becomes raw. From the background this stops the process, as every program's settings do. 0 or -errno. */
int terminal_raw(int fd);

/* As terminal_raw() found it; nothing where it was not called. Leaves a terminal alone that is another job's now. */
void terminal_restore(void);

/* Of the first of 0, 1, 2 that is a terminal; 24 x 80 where none says. */
void terminal_size(uint16_t *ret_rows, uint16_t *ret_columns);

/* fd opened anew for writing without blocking, so that the caller's own descriptor keeps its flags; -errno where the
 * system does not let us (a terminal of another user). */
int terminal_open_output(int fd);

#endif
