#ifndef ISOD_MONITOR_PEER_HOME_H
#define ISOD_MONITOR_PEER_HOME_H
#include <sys/types.h>

/*
 * Whether the process that connected lives where isod does. One in a pid or user namespace of its own is a program in a
 * session, which must not start sessions with other rules, or root of a container, who is not root here. One that has
 * ended is nobody. pid: from SO_PEERCRED. 0, -EPERM, -ESRCH, -errno.
 */
int peer_home_check(int sock, pid_t pid);

/* Tells the client why it is not served, as a reply to whatever it asks first; never waits. */
void peer_home_refuse(int sock);

#endif
