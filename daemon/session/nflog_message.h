#ifndef ISOD_SESSION_NFLOG_MESSAGE_H
#define ISOD_SESSION_NFLOG_MESSAGE_H
/* What one read of an NFNETLINK_LOG socket holds: netlink messages around the first bytes of packets that a program of
 * the session has written as it liked. */
#include <stddef.h>
#include <stdint.h>

struct nflog_packet {
	uint16_t family;
	uint8_t protocol; /* IPPROTO_* after the extension headers */
	uint16_t port;    /* destination; 0 where the protocol has none or it was cut off */
	uint8_t address[16];
};

/* The next refused packet of data from *at on; *at moves past it. 1 = found, 0 = the end, also where the rest cannot be
 * understood. Messages and packets of another kind are passed over. */
int nflog_message_next(const uint8_t *data, size_t len, size_t *at, struct nflog_packet *ret);

/* One IP packet, cut anywhere. 0 or -EBADMSG. */
int nflog_packet_parse(const uint8_t *data, size_t len, struct nflog_packet *ret);

#endif
