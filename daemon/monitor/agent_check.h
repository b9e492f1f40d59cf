#ifndef ISOD_MONITOR_AGENT_CHECK_H
#define ISOD_MONITOR_AGENT_CHECK_H
#include <sys/types.h>

#include "base/error.h"

/*
 * What a client gives as its ssh-agent or gpg-agent, which name says: a connected stream socket of this machine, whose
 * other end is a process of the same user; root's may be anybody's. isod opens no path for it, so nobody is lent what
 * they could not connect to themselves. 0 or -EPERM.
 */
int agent_check(const char *name, int fd, uid_t uid, struct error *e);

#endif
