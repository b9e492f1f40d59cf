#ifndef ISOD_LINUX_LAUNCH_WHO_H
#define ISOD_LINUX_LAUNCH_WHO_H
/* Whose TCP socket is this? Asked by isod-session for each connection, so that the audit log can name the program. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One search. */
struct launch_who {
	uint64_t inode; /* of the socket (launch_diag.h), 0 = none */
	int32_t *pid;   /* the owner in this pid namespace, 0 where none was found */
	char *text;     /* its executable's path (the tail of it) or its name, printable ASCII only, terminated */
	size_t size;
};

/* Fills in pid and text of all of them. One walk through /proc, bounded in processes and descriptors looked at. */
void launch_who_find(const struct launch_who *whose, size_t n);

/* The executable's path or the name of a process of this pid namespace, as above; "" where it is gone. */
void launch_who_program(pid_t pid, char *text, size_t size);

/* Copies the tail of name that fits; whatever is not printable ASCII becomes '?'. */
void launch_who_escape(const char *name, char *text, size_t size);

#endif
