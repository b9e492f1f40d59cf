#ifndef ISOD_LINUX_LAUNCH_PTY_H
#define ISOD_LINUX_LAUNCH_PTY_H
/*
 * The session's own terminal. pid 1 is the session leader and has it as its controlling terminal; the program is a
 * group of its own in the foreground. (Were the program the leader, its group would be orphaned and the kernel would
 * drop its SIGTSTP.)
 */
#include "daemon/launch/launch.h"

/* Step: with PLAN_PTY, makes the pty in the view's devpts, sets its size and sends the master over the link. */
/* The two ends, of the size in the plan, in the devpts of the view. 0 or -errno. */
int launch_pty_open(const struct launch *l, int *ret_master, int *ret_slave);
int launch_pty_make(struct launch *l, struct error *e);
/* Step of the program: its own group or session, the pty's slave as 0, 1, 2 and in the foreground. */
int launch_pty_enter(struct launch *l, struct error *e);

/* pid 1: the group that a signal for the program goes to; the foreground group where there is a pty. */
pid_t launch_pty_group(const struct launch *l);
/* pid 1: gives the terminal to the program's group. 0 or -errno; nothing to do without a pty. */
int launch_pty_foreground(const struct launch *l);

#endif
