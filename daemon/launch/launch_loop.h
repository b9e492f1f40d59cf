#ifndef ISOD_LAUNCH_LOOP_H
#define ISOD_LAUNCH_LOOP_H
/* pid 1 after its stages: it reaps, passes signals on, answers questions, and ends with the program or the link. */
#include "daemon/launch/launch.h"

/* Step: what the loop waits for, then the list of the few system calls that are left to pid 1. */
int launch_loop_open(struct launch *l, struct error *e);
/* Until the program has ended or the link is closed; everything that is left in the pid namespace then dies with us.
 * Returns the exit status. */
int launch_loop_run(struct launch *l);

#endif
