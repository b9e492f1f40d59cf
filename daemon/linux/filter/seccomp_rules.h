#ifndef ISOD_LINUX_SECCOMP_RULES_H
#define ISOD_LINUX_SECCOMP_RULES_H
/*
 * The system call filter of every session, as a classic BPF program for seccomp(2).
 *
 * It is a list of what is allowed (seccomp_table.c). A number that is on no list, such as a call that a later kernel
 * brings, fails with ENOSYS, so that programs fall back; a call known and refused fails with EPERM. i386 calls kill the
 * process, x32 numbers do not exist. A few calls are decided by their arguments:
 *   socket, socketpair   AF_UNIX; AF_INET and AF_INET6 streams and datagrams; NETLINK_ROUTE. Else EAFNOSUPPORT, or
 * EPERM for raw and packet types. ioctl                all but TIOCSTI, TIOCLINUX and TIOCSETD (EPERM). The kernel
 * reads 32 bits of the number. clone, unshare       without any namespace flag; clone3 is ENOSYS since its flags lie in
 * memory. Not with nesting. personality          Linux's own values. ptrace is allowed: debuggers of an agent's own
 * programs need it, and the pid namespace bounds it to the session, in which pid 1 is not dumpable and has another uid.
 * Reading another process by process_vm_readv, kcmp or pidfd_getfd is refused. The set-uid bits of chmod are left
 * alone: every mount of a view is nosuid.
 */
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Appends the program, an array of struct sock_filter. nesting: process.nesting, namespaces and mounts are allowed.
 * 0, -ENOMEM, -EMSGSIZE, or what libseccomp reported. */
int seccomp_rules_build(bool nesting, struct buffer *ret);

/* Bound of the kernel (BPF_MAXINSNS). */
#define SECCOMP_RULES_MAX (4096 * sizeof(struct sock_filter))

/* The lists, for the builder and the tests. Names that an architecture does not have are skipped. */
struct seccomp_call {
	const char *name;
	int number; /* where libseccomp is older than the call; the number is the same on every architecture. 0 = none
		     */
};

extern const struct seccomp_call seccomp_allowed[];        /* ends with a NULL name */
extern const struct seccomp_call seccomp_refused[];        /* EPERM rather than ENOSYS */
extern const struct seccomp_call seccomp_allowed_nested[]; /* moves from refused to allowed with nesting */

#endif
