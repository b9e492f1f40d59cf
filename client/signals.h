#ifndef ISOD_CLIENT_SIGNALS_H
#define ISOD_CLIENT_SIGNALS_H
/*
 * Signals as readable events. Those that isoctl was started with as ignored (nohup) stay ignored. SIGPIPE is ignored
 * for the whole program: a write says it better.
 */
#include <stddef.h>

/* Signals that the session gets in isoctl's stead; -1 ends the list. */
extern const int signals_forwarded[];

/* Blocks the forwarded signals and the given ones (-1 ends) and returns a signalfd for them, or -errno. */
int signals_open(const int *more);

/* The next signal, 0 where none is pending, -errno. */
int signals_next(int fd);

/* Dies of the signal as if it had never been blocked; returns where it was ignored. */
void signals_die(int signal);

/* Stops isoctl's process group as a typed ctrl-Z would; returns when continued, or at once where the group is orphaned
 * (nobody could continue it). */
void signals_stop(void);

#endif
