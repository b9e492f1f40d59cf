#ifndef ISOD_WIRE_PROXY_AUTH_H
#define ISOD_WIRE_PROXY_AUTH_H
/*
 * User and password for the upstream proxy: a file in the administrator's folder, read by isod as root, or by a
 * gateway that root starts, and handed to isod-session alone. isod-control knows its name.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/limits.h"

#define PROXY_AUTH_NAME_MAX 64
/* "Basic " and base64. */
#define PROXY_AUTH_VALUE_MAX (8 + (LIMIT_PROXY_AUTH + 2) / 3 * 4)

/* A plain name, which no folder is part of. */
bool proxy_auth_name_is_valid(const char *name);
/*
 * The one line "user:password" of the file. Taken only where it is a regular file of root's that nobody else may read
 * or write; a link is none. ret is wiped by the caller. 0, or -errno with *e, which never holds any of it.
 */
int proxy_auth_read(int folder, const char *name, char ret[LIMIT_PROXY_AUTH + 1], struct error *e);
/* The value of Proxy-Authorization for a line of len bytes. 0 or -EINVAL: it is none of that form. */
int proxy_auth_value(const char *line, size_t len, char ret[PROXY_AUTH_VALUE_MAX]);

#endif
