#ifndef ISOD_LINUX_NFT_RULES_H
#define ISOD_LINUX_NFT_RULES_H
/*
 * The one ruleset of every session's network namespace (daemon/wire/netns.h), as a netlink batch for nft_apply(). Pure:
 * the same bytes every time. In that namespace every address is local (`ip route add local default dev lo`), so what a
 * program sends passes the output hook and comes back to a socket of the namespace, or nowhere.
 */
#include "base/buffer.h"

#define NFT_RULES_MAX (64U << 10)

/* 0, -ENOMEM, -EMSGSIZE. */
int nft_rules_build(struct buffer *ret);

#endif
