#ifndef ISOD_CLIENT_TERMINAL_GUARD_H
#define ISOD_CLIENT_TERMINAL_GUARD_H
/*
 * A small process beside isoctl that puts the terminal back when isoctl is killed with SIGKILL, which isoctl itself
 * cannot answer. It shares one page with isoctl and waits for its end; after every other end it finds nothing to do.
 */
#include <stdbool.h>
#include <termios.h>

struct terminal_modes;

/* Starts it, once: before = what to restore on tty. Without it (no process, no memory) everything else still works. */
void terminal_guard_start(int tty, const struct termios *before);

/* From here on a kill restores, or no longer does. Safe in a signal handler. */
void terminal_guard_arm(bool is_raw);

/* Which modes the program's output has left on by now: they are reset as well. */
void terminal_guard_modes(const struct terminal_modes *modes);

#endif
