#ifndef ISOD_LINUX_NFT_APPLY_H
#define ISOD_LINUX_NFT_APPLY_H
#include <stddef.h>

/*
 * Applies a netlink batch of nftables in the calling thread's network namespace: all of it or nothing. Needs a raw
 * socket only, no library. 0, or -errno: of the socket (no nftables in this kernel: -EPROTONOSUPPORT), of the first
 * message refused, -EBADMSG where the batch is cut, or -EPROTO where fewer messages were acknowledged than asked for
 * it.
 */
int nft_apply(const void *batch, size_t len);

#endif
