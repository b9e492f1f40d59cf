#ifndef ISOD_PROXY_EXTRA_H
#define ISOD_PROXY_EXTRA_H
#include "base/buffer.h"

/*
 * EGRESS_ALLOW_EXTRA, hosts with commas or blanks between, as the text of a policy that allows them. ".domain" is
 * written "*.domain"; everything else is left to the policy's parser. 0, -EMSGSIZE, -ENOMEM.
 */
int proxy_extra_policy(const char *list, struct buffer *ret);

#endif
