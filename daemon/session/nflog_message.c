#include "daemon/session/nflog_message.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define V4_HEADER 20
#define V6_HEADER 40
/* RFC 8200 lets each appear once, destination options twice. */
#define V6_EXTENSIONS 8

static void read_port(const uint8_t *at, size_t len, struct nflog_packet *ret)
{
	switch (ret->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
		if (len >= 4)
			ret->port = (uint16_t)(at[2] << 8 | at[3]);
		break;
	default:
		break;
	}
}

static int parse_v4(const uint8_t *data, size_t len, struct nflog_packet *ret)
{
	size_t header;

	if (len < V4_HEADER)
		return -EBADMSG;
	header = (size_t)(data[0] & 0xf) * 4;
	if (header < V4_HEADER)
		return -EBADMSG;
	ret->family = AF_INET;
	ret->protocol = data[9];
	memcpy(ret->address, data + 16, 4);
	/* Only a first fragment holds the ports. */
	if (len > header && ((data[6] & 0x1f) | data[7]) == 0)
		read_port(data + header, len - header, ret);
	return 0;
}

static int parse_v6(const uint8_t *data, size_t len, struct nflog_packet *ret)
{
	size_t at = V6_HEADER;
	uint8_t next;

	if (len < V6_HEADER)
		return -EBADMSG;
	next = data[6];
	ret->family = AF_INET6;
	memcpy(ret->address, data + 24, 16);
	for (int i = 0; i < V6_EXTENSIONS; i++) {
		size_t size;

		ret->protocol = next;
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_FRAGMENT &&
		    next != IPPROTO_DSTOPTS)
			break;
		if (len - at < 8)
			return 0;
		size = next == IPPROTO_FRAGMENT ? 8 : 8 + (size_t)data[at + 1] * 8;
		if (next == IPPROTO_FRAGMENT && (data[at + 2] | (data[at + 3] & 0xf8)) != 0) {
			ret->protocol = data[at];
			return 0;
		}
		next = data[at];
		if (len - at < size)
			return 0;
		at += size;
	}
	read_port(data + at, len - at, ret);
	return 0;
}

int nflog_packet_parse(const uint8_t *data, size_t len, struct nflog_packet *ret)
{
	struct nflog_packet packet = { 0 };
	int r;

	if (len == 0)
		return -EBADMSG;
	switch (data[0] >> 4) {
	case 4:
		r = parse_v4(data, len, &packet);
		break;
	case 6:
		r = parse_v6(data, len, &packet);
		break;
	default:
		return -EBADMSG;
	}
	if (r == 0)
		*ret = packet;
	return r;
}

/* The attributes of one message: 1 where its payload is a packet that was understood. */
static int parse_attributes(const uint8_t *data, size_t len, struct nflog_packet *ret)
{
	size_t at = 0;

	while (at < len && len - at >= sizeof(struct nlattr)) {
		struct nlattr attr;

		memcpy(&attr, data + at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > len - at)
			return 0;
		if ((attr.nla_type & NLA_TYPE_MASK) == NFULA_PAYLOAD)
			return nflog_packet_parse(data + at + NLA_HDRLEN, attr.nla_len - NLA_HDRLEN, ret) == 0;
		at += NLA_ALIGN(attr.nla_len);
	}
	return 0;
}

int nflog_message_next(const uint8_t *data, size_t len, size_t *at, struct nflog_packet *ret)
{
	while (*at < len && len - *at >= NLMSG_HDRLEN) {
		const uint8_t *message = data + *at;
		size_t rest = len - *at, start = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
		struct nlmsghdr header;

		memcpy(&header, message, sizeof(header));
		if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest)
			break;
		*at += NLMSG_ALIGN(header.nlmsg_len) < rest ? NLMSG_ALIGN(header.nlmsg_len) : rest;
		if (header.nlmsg_type == (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) && header.nlmsg_len > start &&
		    parse_attributes(message + start, header.nlmsg_len - start, ret))
			return 1;
	}
	*at = len;
	return 0;
}
