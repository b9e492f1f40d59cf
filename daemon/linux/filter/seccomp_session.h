#ifndef ISOD_LINUX_SECCOMP_SESSION_H
#define ISOD_LINUX_SECCOMP_SESSION_H
/*
 * The system call filter of isod-session itself: the calls of an event loop with threads that talks to the network.
 * Built once by isod, since building costs more than all else that isod-session does before it is ready.
 *
 * tgkill is not among them: abort() then ends the process by an illegal instruction, and no other process of its uid
 * can be signalled.
 */
#include "base/buffer.h"

/* Appends the program, an array of struct sock_filter. 0, -ENOMEM, -EMSGSIZE, or what libseccomp reported. */
int seccomp_session_build(struct buffer *ret);

#endif
