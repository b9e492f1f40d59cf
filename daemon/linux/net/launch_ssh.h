#ifndef ISOD_LINUX_LAUNCH_SSH_H
#define ISOD_LINUX_LAUNCH_SSH_H
/* The sockets at which the programs of a session find their ssh-agent and gpg-agent: made in the view, served by
 * isod-session. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct launch;

/* With PLAN_SSH, PLAN_GPG: makes the listener, root's like its folder, and hands it over. After the pivot, before the
 * view is sealed. */
int launch_ssh_make(struct launch *l, struct error *e);

/* fd: a connection that was accepted there. Who made it, as of launch_who_find(). */
void launch_ssh_who(int fd, int32_t *ret_pid, char *text, size_t size);

#endif
