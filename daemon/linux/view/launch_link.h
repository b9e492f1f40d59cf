#ifndef ISOD_LINUX_LAUNCH_LINK_H
#define ISOD_LINUX_LAUNCH_LINK_H
/*
 * Files that are protected under one name and have another (hard links), under which they are not: what a mount covers
 * or locks is a name. Not prevented, said.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "daemon/launch/launch.h"

/* Beyond, they are only counted. */
#define LAUNCH_LINKS 256
#define LAUNCH_LINKS_TOLD 8

/* Has been protected at path. Files with one name are passed over. */
void launch_link_add(const struct stat *st, const char *path);
/* Those of which not all names have been protected. 0 or -errno. */
int launch_link_tell(const struct launch *l);

#endif
