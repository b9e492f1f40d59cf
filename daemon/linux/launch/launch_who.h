#ifndef ISOD_LINUX_LAUNCH_WHO_H
#define ISOD_LINUX_LAUNCH_WHO_H
/* Whose TCP socket is this? Asked by isod-session for each connection, so that the audit log can name the program. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * inode: of the socket (launch_diag.h), 0 = none.
 * *ret_pid: the owner in this pid namespace, 0 where none was found. text: its executable's path (the tail of it) or
 * its name, printable ASCII only, terminated. Bounded in processes and descriptors looked at.
 */
void launch_who_find(uint64_t inode, int32_t *ret_pid, char *text, size_t size);

/* The executable's path or the name of a process of this pid namespace, as above; "" where it is gone. */
void launch_who_program(pid_t pid, char *text, size_t size);

/* Copies the tail of name that fits; whatever is not printable ASCII becomes '?'. */
void launch_who_escape(const char *name, char *text, size_t size);

#endif
