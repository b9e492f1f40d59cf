#ifndef ISOD_LINUX_LAUNCH_WHO_H
#define ISOD_LINUX_LAUNCH_WHO_H
/* Whose TCP socket is this? Asked by isod-session for each connection, so that the audit log can name the program. */
#include <stddef.h>
#include <stdint.h>

/*
 * family: AF_INET or AF_INET6; port, address: the socket's local end (port in host order, address in network order).
 * *ret_pid: the owner in this pid namespace, 0 where none was found. text: its executable's path (the tail of it) or
 * its name, printable ASCII only, terminated. Bounded in processes and descriptors looked at.
 */
void launch_who_find(uint16_t family, uint16_t port, const uint8_t address[16], int32_t *ret_pid, char *text,
		     size_t size);

/* Steps of the above, for tests. The inode of the socket in a table of the form of /proc/net/tcp, or 0. */
uint64_t launch_who_inode(const char *table, uint16_t family, uint16_t port, const uint8_t address[16]);
/* Copies the tail of name that fits; whatever is not printable ASCII becomes '?'. */
void launch_who_escape(const char *name, char *text, size_t size);

#endif
