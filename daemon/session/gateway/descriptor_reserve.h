#ifndef ISOD_SESSION_GATEWAY_DESCRIPTOR_RESERVE_H
#define ISOD_SESSION_GATEWAY_DESCRIPTOR_RESERVE_H
/* The last descriptors of the process (LIMIT_RESERVED_FILES, or a quarter where there are few) are not for connections:
 * a program that opens as many as it can must not keep new rules or a terminal from being received. */
#include <stdbool.h>

/* Is fd one of them? The kernel gives out the lowest number that is free, so the number tells. */
bool descriptor_is_reserved(int fd);

#endif
