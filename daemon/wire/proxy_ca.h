#ifndef ISOD_WIRE_PROXY_CA_H
#define ISOD_WIRE_PROXY_CA_H
/*
 * Whom to trust to be the upstream proxy: PEM certificates in a file of the administrator's folder. isod reads it as
 * bytes and hands them to isod-session-tls, which alone knows what a certificate is.
 */
#include <stddef.h>

#include "base/error.h"
#include "base/limits.h"

/*
 * Taken only where it is a regular file of root's that nobody else may write; a link is none. *ret is a heap string of
 * *ret_len bytes, at most LIMIT_PROXY_CA. 0, or -errno with *e.
 */
int proxy_ca_read(int folder, const char *name, char **ret, size_t *ret_len, struct error *e);

#endif
