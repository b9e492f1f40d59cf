#ifndef ISOD_SESSION_GATEWAY_PROXY_REPLY_H
#define ISOD_SESSION_GATEWAY_PROXY_REPLY_H
/* What an upstream proxy answers to CONNECT. Foreign bytes: no allocation. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Heads of replies are some hundred bytes; those of a proxy that announces ways to log in have a few KiB. */
#define PROXY_REPLY_MAX (16U << 10)

/* > 0: so many bytes are the final reply's head and the interim ones before it; what follows 2xx is the host's. 0: more
 * are needed. -EBADMSG, -EMSGSIZE: no reply that means anything here. */
ssize_t proxy_reply_parse(const char *data, size_t len, uint16_t *ret_status);
/* enum egress_reason; EGRESS_ALLOWED for 2xx. */
uint32_t proxy_reply_reason(uint16_t status);

#endif
