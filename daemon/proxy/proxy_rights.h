#ifndef ISOD_PROXY_RIGHTS_H
#define ISOD_PROXY_RIGHTS_H
/* What a gateway that root starts gives up before it serves anybody. */
#include "base/error.h"

/*
 * Where it runs as root: the ids and groups of isod-net, which own nothing, no capability, not to be traced by that
 * user; each read back. Else nothing. 0, or -errno with *e: it must not go on.
 */
int proxy_rights_drop(struct error *e);

#endif
