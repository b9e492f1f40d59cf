#ifndef ISOD_LINUX_LAUNCH_CONFINE_H
#define ISOD_LINUX_LAUNCH_CONFINE_H
/* The system calls that pid 1 still needs for its last steps and in its loop; every other one fails with EPERM from
 * then on. Not in a build with a sanitizer, whose own runtime needs others. 0 or -errno. Needs no_new_privs. */
int launch_confine_init(void);
/* The same for the connector (launch_connector.h): it finds files, opens none for reading or writing by openat(), and
 * makes Unix sockets alone. */
int launch_confine_connector(void);

#endif
